//! The kit tested by what it must let through and what it must catch.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the model runs in tests only, and its slow provider waits in real time"
)]

mod model;

use std::panic::{AssertUnwindSafe, catch_unwind};

use jobgate_adapter_testkit::{C2, C9, C13, CLAUSES, Clause, Scenario, adapter_contract, run};
use model::{Claims, Flaw, ModelRig};

mod claims_everything {
    use super::{Claims, ModelRig, adapter_contract};
    adapter_contract!(ModelRig::new(Claims::Everything, None));
}

mod claims_nothing {
    use super::{Claims, ModelRig, adapter_contract};
    adapter_contract!(ModelRig::new(Claims::Nothing, None));
}

mod cannot_be_looked_at {
    use super::{Claims, ModelRig, adapter_contract};
    adapter_contract!(ModelRig::new(Claims::Pushed, None));
}

/// Runs every clause; exactly the wanted ones must fail, each with its own number first.
#[track_caller]
fn caught(claims: Claims, flaw: Flaw, wanted: &[&str]) {
    let mut failed = Vec::new();
    for clause in CLAUSES {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(*clause, async { ModelRig::new(claims, Some(flaw)) })));
        if let Err(panic) = outcome {
            let message = panic.downcast_ref::<String>().unwrap();
            assert!(message.starts_with(&format!("{} is broken: ", clause.id)), "{flaw:?}: {message}");
            failed.push(clause.id);
        }
    }
    assert_eq!(failed, wanted, "{flaw:?}");
}

macro_rules! mutants {
    ($($name:ident: $claims:ident $flaw:ident => $wanted:expr;)+) => {
        $(
            #[test]
            fn $name() {
                caught(Claims::$claims, Flaw::$flaw, &$wanted);
            }
        )+
    };
}

mutants! {
    c1_bad_words_accepted: Everything AcceptsBadWords => ["C1"];
    c1_misspelt_words_accepted: Everything AcceptsMisspeltWords => ["C1"];
    c1_place_not_named: Everything HidesThePlace => ["C1"];
    c2_result_lost: Everything LosesTheResult => ["C2"];
    c2_failure_without_a_reason: Everything FailsInSilence => ["C2"];
    c2_never_ends: Everything NeverEnds => ["C2", "C3", "C5", "C7", "C9", "C10", "C13", "C15"];
    c3_comes_back_to_life: Everything ComesBackToLife => ["C3", "C5", "C7", "C13"];
    c4_two_jobs_for_a_key: Everything StartsTwoJobs => ["C4"];
    c4_claims_too_little: Nothing ClaimsTooLittle => ["C4"];
    c5_cancel_does_nothing: Everything CancelDoesNothing => ["C3", "C5"];
    c5_second_cancel_fails: Everything SecondCancelFails => ["C5"];
    c5_cancel_kills_the_finished: Everything CancelKillsTheFinished => ["C5"];
    c5_harder_way_does_nothing: Everything HarderWayDoesNothing => ["C5"];
    c5_harder_way_kills_the_finished: Everything HarderWayKillsTheFinished => ["C5"];
    c5_escalates_without_cancel: Nothing EscalatesWithoutCancel => ["C5"];
    c5_unclaimed_cancel_works: Nothing UnclaimedCancelWorks => ["C5"];
    c5_unclaimed_cancel_is_rejected: Nothing UnclaimedCancelIsRejected => ["C5"];
    c6_invents_a_status: Everything InventsAStatus => ["C6"];
    c7_remembers_jobs: Everything RemembersJobs => ["C7"];
    c8_retries_the_rejected: Everything RetriesTheRejected => ["C8"];
    c8_forgets_retry_after: Everything ForgetsRetryAfter => ["C8"];
    c8_cut_submit_is_unavailable: Everything CutSubmitIsUnavailable => ["C8", "C11"];
    c8_names_the_wrong_call: Everything NamesTheWrongCall => ["C8"];
    c9_guesses_the_word: Everything GuessesTheWord => ["C9", "C14"];
    c9_chokes_on_the_word: Everything ChokesOnTheWord => ["C9", "C14"];
    c10_secret_in_debug: Everything SecretInDebug => ["C10"];
    c10_secret_in_errors: Everything SecretInErrors => ["C10"];
    c11_trusts_bad_json: Everything TrustsBadJson => ["C10", "C11"];
    c11_unreadable_submit_is_protocol: Everything UnreadableSubmitIsProtocol => ["C11"];
    c11_waits_for_ever: Everything WaitsForEver => ["C11"];
    c12_finds_nothing: Everything FindsNothing => ["C12"];
    c12_finds_too_much: Everything FindsTooMuch => ["C12"];
    c12_unclaimed_find_is_none: Nothing UnclaimedFindIsNone => ["C12"];
    c13_answers_twice: Everything AnswersTwice => ["C13"];
    c13_asks_anew: Everything AsksAnew => ["C13"];
    c13_unclaimed_answer_is_taken: Nothing UnclaimedAnswerIsTaken => ["C13"];
    c14_read_disagrees_with_poll: Everything ReadDisagreesWithPoll => ["C14"];
    c14_the_unreadable_is_empty: Everything ReadsTheUnreadableAsEmpty => ["C14"];
    c14_a_status_of_a_job_that_is_not_named: Everything ReadsOfOthers => ["C14"];
    c14_a_status_that_nobody_told: Everything GuessesWhatIsMissing => ["C14"];
    c14_panics_on_odd_json: Everything PanicsOnOddJson => ["C14"];
    c14_names_a_job_twice: Everything NamesAJobTwice => ["C14"];
    c14_reads_what_it_remembers: Everything ReadsItsOwnJobsAlone => ["C14"];
    c14_repeats_what_it_cannot_read: Everything RepeatsTheDelivery => ["C14"];
    c14_says_nothing: Everything SaysNothing => ["C14"];
    c14_unclaimed_delivery_is_empty: Nothing UnclaimedDeliveryIsEmpty => ["C14"];
    c14_looks_where_it_cannot: Pushed PollsWhatIsPushed => ["C14"];
    c14_pushed_without_webhook: Pushed PushedWithoutWebhook => ["C2", "C3", "C5", "C7", "C8", "C9", "C10", "C11", "C14", "C15"];
    c15_gives_a_file_of_nobody: Nothing GivesAFileOfNobody => ["C15"];
}

fn breach_without(clause: Clause, scenario: Scenario, reason: &'static str) -> Option<String> {
    let rig = async { ModelRig::new(Claims::Everything, None).without(scenario, reason) };
    let panic = catch_unwind(AssertUnwindSafe(|| run(clause, rig))).err()?;
    Some(panic.downcast_ref::<String>().unwrap().clone())
}

#[test]
fn a_case_is_left_out_only_with_a_reason_and_only_where_nothing_that_is_claimed_needs_it() {
    assert_eq!(breach_without(C9, Scenario::UnknownWord, "the vocabulary is closed"), None);
    assert!(breach_without(C9, Scenario::UnknownWord, "").unwrap().contains("without a reason"));
    assert!(breach_without(C13, Scenario::WaitsForPerson, "nobody is asked").unwrap().contains("input is claimed"));
    assert!(breach_without(C2, Scenario::Fails, "it never fails").unwrap().contains("must provide Fails"));
}

/// Every clause of the contract's README has a test here, and the other way round.
#[test]
fn the_kit_has_exactly_the_clauses_of_the_contract() {
    let contract = include_str!("../../api/README.md");
    let listed: Vec<&str> = contract
        .lines()
        .filter_map(|line| line.strip_prefix("| C"))
        .filter_map(|rest| rest.split_once(" |"))
        .map(|(id, _)| id)
        .collect();
    let tested: Vec<&str> = CLAUSES.iter().map(|clause| clause.id.strip_prefix('C').unwrap()).collect();
    assert_eq!(listed, tested);
}
