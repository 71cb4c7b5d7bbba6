//! Contract tests for adapters.
#![doc = include_str!("../README.md")]

mod api_server;
mod clauses;
mod delivery;
mod http_rig;
mod job_api;
mod rig;
mod stubs;
mod suite;
mod wire;

use std::pin::Pin;

pub use api_server::{ApiServer, MockApi};
pub use delivery::verified;
pub use http_rig::{HttpRig, SECRET, SECRET_REF};
pub use job_api::JobApi;
pub use rig::{Absent, BadConfig, Case, Fault, Rig, RigTool, Scenario};
pub use stubs::{StubError, Stubs};
pub use suite::Breach;
pub use wiremock::{Request, ResponseTemplate};

use crate::suite::Suite;

/// A clause at work.
type Checking<'a> = Pin<Box<dyn Future<Output = Result<(), Breach>> + 'a>>;

/// One clause of the contract.
#[derive(Clone, Copy)]
pub struct Clause {
    /// Its number in the contract's README.
    pub id: &'static str,
    check: for<'a> fn(&'a Suite<'a>) -> Checking<'a>,
}

impl std::fmt::Debug for Clause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

macro_rules! clauses {
    ($($constant:ident = $check:path;)+) => {
        $(
            #[doc = concat!("Clause ", stringify!($constant), " of the contract.")]
            pub const $constant: Clause = Clause { id: stringify!($constant), check: |suite| Box::pin($check(suite)) };
        )+
        /// Every clause, in the contract's order.
        pub const CLAUSES: &[Clause] = &[$($constant),+];
    };
}

clauses! {
    C1 = clauses::config::c1;
    C2 = clauses::life::c2;
    C3 = clauses::life::c3;
    C4 = clauses::submit::c4;
    C5 = clauses::cancel::c5;
    C6 = clauses::life::c6;
    C7 = clauses::life::c7;
    C8 = clauses::fault::c8;
    C9 = clauses::life::c9;
    C10 = clauses::secret::c10;
    C11 = clauses::fault::c11;
    C12 = clauses::submit::c12;
    C13 = clauses::input::c13;
    C14 = clauses::delivery::c14;
    C15 = clauses::file::c15;
}

/// Runs one clause against a rig, which is made inside the runtime that the clause runs in.
///
/// # Panics
/// When the clause is broken; the message begins with its number.
pub fn run<R: Rig>(clause: Clause, rig: impl Future<Output = R>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime for one test can be made");
    runtime.block_on(async {
        let rig = rig.await;
        if let Err(breach) = (clause.check)(&Suite::new(&rig, clause.id)).await {
            panic!("{} is broken: {breach}", clause.id);
        }
    });
}

/// One `#[test]` per clause. The expression makes a [`Rig`] and may `.await`; it is evaluated anew for every clause.
/// Two rigs in one file go into a module each.
#[macro_export]
macro_rules! adapter_contract {
    ($rig:expr) => {
        $crate::adapter_contract! { @tests $rig,
            c01_a_bad_configuration_is_refused_and_its_place_named = C1;
            c02_a_job_runs_to_its_end_and_hands_over_its_result = C2;
            c03_a_terminal_observation_never_changes = C3;
            c04_one_key_gives_one_job_where_claimed = C4;
            c05_cancel_does_what_its_capability_says = C5;
            c06_an_unknown_job_is_not_found = C6;
            c07_a_second_instance_sees_the_job = C7;
            c08_trouble_gives_the_right_retry_advice = C8;
            c09_an_unmapped_word_is_unrecognized = C9;
            c10_a_secret_shows_nowhere = C10;
            c11_bad_answers_end_in_time = C11;
            c12_a_job_is_found_by_its_key_where_claimed = C12;
            c13_answers_reach_the_job_once_where_claimed = C13;
            c14_a_delivery_says_what_a_look_would_say_where_claimed = C14;
            c15_a_file_to_keep_is_handed_over_whole = C15;
        }
    };
    (@tests $rig:expr, $($name:ident = $clause:ident;)+) => {
        $(
            #[test]
            fn $name() {
                $crate::run($crate::$clause, async { $rig });
            }
        )+
    };
}
