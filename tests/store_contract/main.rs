//! The clauses S1–S26 of `TaskStore`, one test for each clause and store. A further store joins with a [`Harness`] alone.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod claims;
mod create;
mod deliveries;
mod deliveries_model;
mod lists;
mod model;
mod names;
mod rest;
mod support;

use std::sync::Arc;

use async_trait::async_trait;
use jobgate::store::sled::{SledOptions, SledStore, verify};
use jobgate::store::{MemoryStore, TaskStore};
use jobgate_adapter_api::SystemClock;

/// How a store is opened for the clauses.
#[async_trait]
trait Harness: Send + Sync {
    /// What is stored outlives the store object, so it can be opened again. A store that says no is excused from the clauses on
    /// durability, and no other.
    const DURABLE: bool;

    /// A place where nothing is stored.
    fn new() -> Self;

    /// See [`Self::DURABLE`].
    fn is_durable(&self) -> bool {
        Self::DURABLE
    }

    /// Opens what is there. Called again only after `close`.
    async fn open(&self) -> Arc<dyn TaskStore>;

    /// What is wrong with what is stored, and what takes room for nothing, where that can be told. Called after `close`.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Closes and opens again; a store without durability goes on as it is.
    async fn reopen(&self, store: Arc<dyn TaskStore>) -> Arc<dyn TaskStore> {
        if !Self::DURABLE {
            return store;
        }
        store.close().await.unwrap();
        drop(store);
        self.open().await
    }
}

struct Memory;

#[async_trait]
impl Harness for Memory {
    const DURABLE: bool = false;

    fn new() -> Self {
        Self
    }

    async fn open(&self) -> Arc<dyn TaskStore> {
        Arc::new(MemoryStore::new())
    }
}

struct Sled {
    dir: tempfile::TempDir,
}

#[async_trait]
impl Harness for Sled {
    const DURABLE: bool = true;

    fn new() -> Self {
        // In memory where the machine has that: these clauses are not about the disk, and it is slow while others use it.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        Self { dir }
    }

    async fn open(&self) -> Arc<dyn TaskStore> {
        SledStore::open(self.options(), Arc::new(SystemClock)).unwrap().store
    }

    fn problems(&self) -> Vec<String> {
        let found = verify(&self.options()).unwrap();
        [found.problems, found.notes].concat()
    }
}

impl Sled {
    fn options(&self) -> SledOptions {
        SledOptions { reserve_bytes: 0, ..SledOptions::new(self.dir.path().join("data")) }
    }
}

/// One module of tests for each store, one test for each clause.
macro_rules! clauses {
    ($($store:ident: $harness:ty),+ => $list:tt) => { $(clauses!(@ $store $harness, $list);)+ };
    (@ $store:ident $harness:ty, { $($module:ident::$clause:ident,)+ }) => {
        mod $store {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $clause() {
                    super::$module::$clause(<$harness as super::Harness>::new()).await;
                }
            )+
        }
    };
}

clauses! {
    memory: super::Memory, sled: super::Sled => {
        create::s1_what_is_created_is_there_with_its_first_audit_entry,
        create::s1_every_kind_of_task_is_read_as_it_was_written,
        create::s1_an_id_that_is_taken_is_refused,
        create::s2_one_caller_key_makes_one_task,
        create::s2_two_creates_at_once_with_one_key_make_one_task,
        create::s3_an_unknown_task_is_none,
        create::s4_a_commit_replaces_the_task_and_its_index_entries,
        create::s4_a_commit_at_another_revision_changes_nothing,
        create::s5_of_many_commits_at_one_revision_one_wins,
        create::large_arguments_results_and_questions_are_kept_whole,
        claims::s6_the_longest_claimable_come_first_and_nobody_gets_them_twice,
        claims::s6_a_task_can_be_created_claimed,
        claims::s18_a_snoozed_task_waits_without_a_write,
        claims::s6_two_claimers_at_once_share_no_task,
        claims::s6_a_claim_ends_with_its_lease,
        claims::s6_a_commit_ends_the_claim,
        claims::s7_a_released_task_can_be_claimed_again,
        claims::s6_many_claimed_tasks_at_the_front_hide_no_others,
        claims::s8_the_next_moment_counts_claims_in,
        claims::s16_providers_are_those_with_something_left_to_do,
        lists::s9_a_job_finds_its_task_in_any_state,
        lists::s10_an_owner_sees_its_own_tasks_newest_first,
        lists::s10_pages_are_stable_while_tasks_are_created,
        lists::s15_tasks_at_the_end_of_their_life_are_found_first_ended_first,
        names::s19_a_task_is_given_to_those_it_belongs_to,
        names::s20_a_client_id_is_one_of_a_kind_for_its_owner,
        names::s20_of_two_at_once_with_one_client_id_one_wins,
        names::s21_a_request_finds_its_task,
        names::s22_a_call_joins_the_running_task,
        names::s22_two_at_once_make_one_task,
        deliveries::s23_a_repeat_has_no_effect,
        deliveries::s23_of_many_copies_at_once_one_is_the_first,
        deliveries::s23_a_stale_change_leaves_nothing_recorded,
        deliveries::s24_nothing_is_parked_for_a_job_that_is_there,
        deliveries::s24_nothing_is_missed_between_parking_and_binding,
        deliveries::s25_what_is_parked_goes_with_the_commit_that_uses_it,
        deliveries::s25_dead_letters_wait_for_somebody,
        deliveries::s23_a_dead_letter_can_be_taken_once_more,
        deliveries::s26_what_is_over_is_forgotten,
        deliveries::s26_many_are_forgotten_at_once,
        deliveries::s25_the_oldest_go_where_there_are_too_many,
        rest::s11_the_audit_trail_is_whole_and_in_order,
        rest::s12_a_purged_task_leaves_nothing_behind,
        rest::s12_a_task_that_moved_on_is_not_purged,
        rest::s13_live_tasks_are_counted_by_owner,
        rest::s14_a_seed_is_made_once,
        rest::s17_a_closed_store_says_so,
        deliveries_model::any_sequence_of_deliveries_ends_as_in_memory,
        model::any_sequence_of_operations_ends_as_the_model_says,
    }
}
