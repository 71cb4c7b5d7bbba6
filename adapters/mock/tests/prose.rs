//! The demonstration configuration and the README's examples are right, and the demonstration does what it promises.
#![expect(clippy::unwrap_used, reason = "an example that cannot be read fails its test")]

use jobgate_adapter_api::{Issues, Place, Timestamp, ToolWords, factory};
use jobgate_adapter_mock::asl::{Execution, Happening, Machine, Outside, Snapshot, Status, simulate};
use jobgate_adapter_mock::{DEMO_YAML, Mock};
use serde_json::{Value, json};

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// The mock's part of a gateway configuration, checked as the gateway does.
fn check(configuration: &Value) {
    let providers = configuration["providers"].as_object().unwrap();
    assert!(!providers.is_empty());
    for (provider, section) in providers {
        let mut words = section.clone();
        assert_eq!(words.as_object_mut().unwrap().remove("adapter"), Some(json!("mock")));
        let tools: Vec<ToolWords<Value>> = configuration["tools"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, tool)| tool["provider"] == json!(provider))
            .map(|(name, tool)| ToolWords {
                name: name.clone(),
                input_schema: tool["input"].clone(),
                place: Place::root().key("tools").key(name).key("job"),
                words: tool["job"].clone(),
            })
            .collect();
        assert!(!tools.is_empty(), "{provider} has no tools");
        let mut issues = Issues::new();
        let checked = factory::<Mock>().check(&Place::root().key("providers").key(provider), words, tools, &mut issues);
        assert!(issues.is_empty() && checked.is_some(), "{issues:#?}");
    }
}

#[test]
fn the_examples_of_the_readme_and_the_demonstration_are_accepted() {
    check(&yaml(DEMO_YAML));
    let readme = include_str!("../README.md");
    let blocks: Vec<&str> = readme.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        check(&yaml(block));
    }
}

fn look(tool: &str, input: Value, answer: Option<Value>, seconds: i64) -> Snapshot {
    let machine = Machine::parse(&yaml(DEMO_YAML)["tools"][tool]["job"]["machine"], &Place::root()).unwrap();
    let execution = Execution { id: "e1".to_owned(), machine: tool.to_owned(), input, started_at: Timestamp::default() };
    let answered =
        |answer| Happening { at: Timestamp::from_millis(20_000), what: Outside::Answered { key: "Approve".to_owned(), answer } };
    let journal: Vec<Happening> = answer.map(answered).into_iter().collect();
    simulate(&machine, &execution, &journal, Timestamp::from_millis(seconds * 1000))
}

#[test]
fn a_deployment_asks_and_does_what_the_person_says() {
    let input = || json!({"service": "shop", "version": "1.4.2"});
    let asked = look("deploy", input(), None, 15);
    let Status::Waiting(questions) = asked.status else { panic!("{asked:?}") };
    assert_eq!(questions[0].message, "Roll out shop 1.4.2 to staging? 212 tests passed.");

    let yes = json!({"action": "accept", "content": {"approve": true}});
    let done = look("deploy", input(), Some(yes), 25);
    let Status::Succeeded(output) = done.status else { panic!("{done:?}") };
    assert_eq!(output["content"][0]["text"], "shop 1.4.2 is live in staging.");

    for no in [
        json!({"action": "accept", "content": {"approve": false}}),
        json!({"action": "accept", "content": null}),
        json!({"action": "decline", "content": null}),
    ] {
        let refused = look("deploy", input(), Some(no), 25);
        assert_eq!(
            refused.status,
            Status::Failed { error: "NotApproved".to_owned(), cause: "The rollout of shop 1.4.2 was not approved.".to_owned() }
        );
    }
    let late = look("deploy", input(), None, 3700);
    assert!(matches!(late.status, Status::Failed { error, .. } if error == "ApprovalTimedOut"));
}

#[test]
fn a_video_counts_its_frames_and_ends_with_a_link() {
    let halfway = look("render_video", json!({"prompt": "a \"cat\" {}"}), None, 10);
    assert_eq!((halfway.stages, halfway.counts.map(|counts| counts.done)), (vec!["rendering frames".to_owned()], Some(240.0)));
    let done = look("render_video", json!({"prompt": "a \"cat\" {}"}), None, 20);
    let Status::Succeeded(output) = done.status else { panic!("{done:?}") };
    assert_eq!(output["content"][0]["text"], "The video for \"a \"cat\" {}\" is ready.");
    assert_eq!(output["content"][1]["uri"], "https://videos.example.com/e1.mp4");
}

#[test]
fn an_import_fails_in_its_third_step_and_a_sum_is_there_at_once() {
    let failed = look("nightly_import", json!({}), None, 6);
    assert_eq!(
        failed.status,
        Status::Failed {
            error: "ForeignKeyViolation".to_owned(),
            cause: "Row 420 names a customer who does not exist.".to_owned()
        }
    );
    assert_eq!(look("quick_sum", json!({"a": 2, "b": 0.5}), None, 0).status, Status::Succeeded(json!({"sum": 2.5})));
}
