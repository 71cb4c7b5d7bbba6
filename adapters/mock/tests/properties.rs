//! What holds for every machine: looks are repeatable, ends are final, and nothing changes before the moment that was named.
#![expect(clippy::unwrap_used, reason = "a machine that cannot be read fails its test")]

use jobgate_adapter_api::{Place, Timestamp};
use jobgate_adapter_mock::asl::{Execution, Happening, Machine, Outside, Snapshot, Status, simulate};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// One state of a random machine. Times are in tenths of a second.
#[derive(Clone, Debug)]
enum Plan {
    Wait { tenths: u32, steps: u32 },
    Task { tenths: u32, fails_first: u32, retries: u32, limit: Option<u32>, caught: bool },
    Ask { limit: Option<u32> },
    Parallel(Vec<Vec<Plan>>),
    Map { items: usize, at_once: u32, each: Vec<Plan> },
    Fail,
}

fn plan() -> impl Strategy<Value = Vec<Plan>> {
    let limit = || prop::option::of(1_u32..30);
    let leaf = prop_oneof![
        3 => (0_u32..40, 1_u32..5).prop_map(|(tenths, steps)| Plan::Wait { tenths, steps }),
        3 => (0_u32..40, 0_u32..4, 0_u32..4, limit(), any::<bool>())
            .prop_map(|(tenths, fails_first, retries, limit, caught)| Plan::Task { tenths, fails_first, retries, limit, caught }),
        2 => limit().prop_map(|limit| Plan::Ask { limit }),
        1 => Just(Plan::Fail),
    ];
    let tree = leaf.prop_recursive(3, 24, 3, |inner| {
        let chain = || prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            prop::collection::vec(chain(), 1..3).prop_map(Plan::Parallel),
            (0_usize..4, 0_u32..3, chain()).prop_map(|(items, at_once, each)| Plan::Map { items, at_once, each }),
        ]
    });
    prop::collection::vec(tree, 0..4)
}

/// A scope of the States Language; `named` counts the states so far, so that every name is new.
fn scope(plans: &[Plan], named: &mut usize) -> Value {
    let mut name = || {
        *named += 1;
        format!("S{named}")
    };
    let names: Vec<String> = plans.iter().map(|_| name()).collect();
    let end = name();
    let mut states = Map::new();
    for (nth, plan) in plans.iter().enumerate() {
        let next = names.get(nth + 1).unwrap_or(&end);
        let mut state = state(plan, named);
        if !matches!(plan, Plan::Fail) {
            state["Next"] = json!(next);
        }
        if matches!(plan, Plan::Task { caught: true, .. }) {
            state["Catch"] = json!([{"ErrorEquals": ["States.ALL"], "ResultPath": null, "Next": next}]);
        }
        states.insert(names[nth].clone(), state);
        if matches!(plan, Plan::Fail) {
            return json!({"StartAt": names[0], "States": states});
        }
    }
    states.insert(end.clone(), json!({"Type": "Pass", "End": true}));
    json!({"StartAt": names.first().unwrap_or(&end), "States": states})
}

fn state(plan: &Plan, named: &mut usize) -> Value {
    let seconds = |tenths: u32| f64::from(tenths) / 10.0;
    match plan {
        Plan::Wait { tenths, steps } => {
            json!({"Type": "Wait", "Seconds": seconds(*tenths), "MockProgress": {"from": 0, "done": 7, "total": 7, "steps": steps}})
        }
        Plan::Task { tenths, fails_first, retries, limit, .. } => {
            let mut parameters = json!({"DurationSeconds": seconds(*tenths)});
            if *fails_first > 0 {
                parameters["Error"] = json!("Random");
                parameters["FailFirst"] = json!(fails_first);
            }
            let retry = json!([{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 0.3, "MaxAttempts": retries}]);
            let mut state =
                json!({"Type": "Task", "Resource": "mock:result", "Parameters": parameters, "ResultPath": null, "Retry": retry});
            if let Some(limit) = limit {
                state["TimeoutSeconds"] = json!(seconds(*limit));
            }
            state
        }
        Plan::Ask { limit } => {
            let mut state = json!({"Type": "Task", "Resource": "mock:callback", "ResultPath": null});
            if let Some(limit) = limit {
                state["TimeoutSeconds"] = json!(seconds(*limit));
            }
            state
        }
        Plan::Parallel(branches) => {
            let branches: Vec<Value> = branches.iter().map(|branch| scope(branch, named)).collect();
            json!({"Type": "Parallel", "Branches": branches, "ResultPath": null})
        }
        Plan::Map { items, at_once, each } => {
            let items: Vec<usize> = (0..*items).collect();
            // A Map needs its list in the data; a branch of one puts it there.
            json!({"Type": "Map", "ItemsPath": format!("$.lists.l{}", items.len()), "MaxConcurrency": at_once, "ItemProcessor": scope(each, named),
                   "ItemSelector": {"lists.$": "$.lists"}, "ResultPath": null})
        }
        Plan::Fail => json!({"Type": "Fail", "Error": "Planned", "Cause": "as planned"}),
    }
}

struct World {
    machine: Machine,
    execution: Execution,
}

impl World {
    fn new(plans: &[Plan], limit: Option<u32>) -> Self {
        let mut words = scope(plans, &mut 0);
        if let Some(limit) = limit {
            words["TimeoutSeconds"] = json!(limit);
        }
        let machine = Machine::parse(&words, &Place::root()).unwrap_or_else(|issues| panic!("{words}: {issues:#?}"));
        let lists = json!({"l0": [], "l1": [0], "l2": [0, 1], "l3": [0, 1, 2]});
        let execution =
            Execution { id: "e".to_owned(), machine: "m".to_owned(), input: json!({"lists": lists}), started_at: at(0) };
        Self { machine, execution }
    }

    fn look(&self, journal: &[Happening], ms: i64) -> Snapshot {
        simulate(&self.machine, &self.execution, journal, at(ms))
    }

    /// Lives a whole life as a gateway would: looks now and then, answers some of what is asked, and perhaps stops it.
    fn live(&self, looks: &[(u32, bool)], stop_at: Option<usize>) -> (Vec<Happening>, i64) {
        let (mut journal, mut now) = (Vec::new(), 0);
        for (nth, (pause, answer)) in looks.iter().enumerate() {
            now += i64::from(*pause);
            let seen = self.look(&journal, now);
            if seen.status.is_terminal() {
                break;
            }
            match seen.status {
                Status::Waiting(questions) if *answer => {
                    let key = questions.first().unwrap().key.clone();
                    journal.push(Happening { at: at(now), what: Outside::Answered { key, answer: json!({"action": "accept"}) } });
                }
                _ if stop_at == Some(nth) => journal.push(Happening { at: at(now), what: Outside::Cancelled }),
                _ => {}
            }
        }
        (journal, now)
    }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn looks() -> impl Strategy<Value = Vec<(u32, bool)>> {
    prop::collection::vec((1_u32..3000, any::<bool>()), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Clause C3: whatever happened, an end stays as it is, also when someone stops or answers afterwards.
    #[test]
    fn looks_are_repeatable_and_ends_are_final(
        plans in plan(), limit in prop::option::of(1_u32..20), looks in looks(), stop in prop::option::of(0_usize..20), later in 0_i64..1_000_000,
    ) {
        let world = World::new(&plans, limit);
        let (journal, now) = world.live(&looks, stop);
        let seen = world.look(&journal, now);
        prop_assert_eq!(&seen, &world.look(&journal, now));
        if seen.status.is_terminal() {
            prop_assert_eq!(&seen, &world.look(&journal, now + later));
            let mut more = journal.clone();
            more.push(Happening { at: at(now), what: Outside::Cancelled });
            more.push(Happening { at: at(now), what: Outside::Answered { key: "S1".to_owned(), answer: json!(1) } });
            prop_assert_eq!(&seen, &world.look(&more, now + later));
        }
    }

    /// A gateway that looks again at the named moment misses nothing: until then every look is the same.
    #[test]
    fn nothing_changes_before_the_named_moment(plans in plan(), limit in prop::option::of(1_u32..20), looks in looks(), part in 0.0_f64..1.0) {
        let world = World::new(&plans, limit);
        let (journal, now) = world.live(&looks, None);
        let seen = world.look(&journal, now);
        match seen.next_change {
            Some(next) => {
                let next = next.as_millis();
                prop_assert!(next > now);
                let between = now + ((next - 1 - now) as f64 * part) as i64;
                prop_assert_eq!(&seen, &world.look(&journal, between));
                prop_assert_ne!(&seen, &world.look(&journal, next));
            }
            None if seen.status.is_terminal() => {}
            None => {
                prop_assert!(matches!(seen.status, Status::Waiting(_)), "a run that nobody can change stands still: {seen:?}");
                prop_assert_eq!(&seen, &world.look(&journal, now + 1_000_000_000));
            }
        }
    }

    /// Every answer moves a run on: the same question is never asked again.
    #[test]
    fn a_question_that_was_answered_is_not_asked_again(plans in plan(), looks in looks(), later in 0_i64..100_000) {
        let world = World::new(&plans, None);
        let (journal, now) = world.live(&looks, None);
        if let Status::Waiting(questions) = world.look(&journal, now + later).status {
            for happening in &journal {
                let Outside::Answered { key, .. } = &happening.what else { continue };
                prop_assert!(questions.iter().all(|question| question.key != *key));
            }
        }
    }
}
