//! The steps of a client's story: which there are, how scripts tell them, and what came of each.

use std::collections::BTreeMap;

use serde_json::Value;

use super::known::Client;

/// The steps that the table has a column for, with the column's head. `connect` and `started` come before them.
pub(crate) const STEPS: [(&str, &str); 13] = [
    ("list", "list"),
    ("quick", "quick call"),
    ("task", "job"),
    ("failing", "failing job"),
    ("fault", "fault"),
    ("input_accept", "asked: yes"),
    ("input_decline", "asked: no"),
    ("cancel", "cancel"),
    ("resume", "resume"),
    ("kill_same", "kill, same connection"),
    ("kill_new", "kill, new connection"),
    ("kill_input", "kill, then asked"),
    ("unknown_task", "unknown task"),
];

/// What a script said of a step.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// `None`: the client has no words for it.
    pub(crate) ok: Option<bool>,
    pub(crate) detail: Value,
}

/// What one client has told of its steps, over all of its scripts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story(BTreeMap<String, Vec<Told>>);

impl Story {
    /// Reads a script's output: one line of JSON a step. Other lines are no steps.
    pub(crate) fn read(told: &str) -> Self {
        let mut story = Self::default();
        for line in told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if let Some(step) = line["step"].as_str() {
                story.add(step, line["ok"].as_bool(), line["detail"].clone());
            }
        }
        story
    }

    pub(crate) fn add(&mut self, step: &str, ok: Option<bool>, detail: Value) {
        self.0.entry(step.to_owned()).or_default().push(Told { ok, detail });
    }

    pub(crate) fn join(&mut self, other: Self) {
        for (step, told) in other.0 {
            self.0.entry(step).or_default().extend(told);
        }
    }

    /// What was told of a step that is something: yes, or no.
    pub(crate) fn of(&self, step: &str) -> Vec<&Told> {
        self.0.get(step).into_iter().flatten().filter(|told| told.ok.is_some()).collect()
    }

    /// All that went wrong, a line each.
    ///
    /// A step that the client cannot do is not told, or the client refuses it in its words: what works is no longer something that
    /// it cannot do. A step that it tells in its own way may be no good to its script, and has these words then.
    pub(crate) fn faults(&self, client: &Client) -> Vec<String> {
        let (cannot, refuses) = (client.cannot, client.refuses);
        let mut faults = Vec::new();
        for step in ["connect"].into_iter().chain(STEPS.map(|(step, _)| step)) {
            let told = self.of(step);
            if let Some((_, words, _)) = client.tells.iter().find(|(name, _, _)| *name == step) {
                let other = told.iter().filter(|it| !it.detail.to_string().contains(words));
                faults.extend(other.map(|it| format!("{step}: says nothing of `{words}`: {}", it.detail)));
                if told.is_empty() {
                    faults.push(format!("{step}: not told"));
                }
            } else if cannot.iter().any(|(name, _)| *name == step) {
                let refused =
                    |it: &&&Told| it.ok == Some(false) && !refuses.is_empty() && it.detail.to_string().contains(refuses);
                let other = told.iter().filter(|it| !refused(it));
                faults.extend(other.map(|it| format!("{step}: is listed as what the client cannot do, but {it:?}")));
            } else if told.is_empty() {
                let begin = self.0.get(step).or_else(|| self.0.get("started"));
                faults.push(format!("{step}: not told; {begin:?}"));
            } else {
                faults.extend(told.iter().filter(|it| it.ok != Some(true)).map(|it| format!("{step}: {}", it.detail)));
            }
        }
        for (step, end) in [("input_accept", "is deleted."), ("input_decline", "is kept.")] {
            let told = self.of(step);
            let other = told.iter().filter(|it| it.ok == Some(true) && !it.detail.to_string().contains(end));
            faults.extend(other.map(|it| format!("{step}: the answer did not count: {}", it.detail)));
            // Told as a count, or as a list of what was asked.
            let again = told.iter().filter(|it| {
                let asked = &it.detail["asked"];
                asked.as_u64().or(asked.as_array().map(|asked| asked.len() as u64)).is_some_and(|asked| asked != 1)
            });
            faults.extend(again.map(|it| format!("{step}: asked more than once: {}", it.detail)));
        }
        faults
    }
}

#[test]
fn a_step_that_is_missing_or_wrong_is_a_fault() {
    let line = |step: &str, ok: &str, detail: &str| format!("{{\"step\":\"{step}\",\"ok\":{ok},\"detail\":\"{detail}\"}}");
    let all = |changed: &str, ok: &str, detail: &str| {
        let steps = ["connect"].into_iter().chain(STEPS.map(|(step, _)| step));
        let lines = steps.map(|step| match step {
            step if step == changed => line(step, ok, detail),
            "input_accept" => line(step, "true", "x is deleted."),
            "input_decline" => line(step, "true", "x is kept."),
            step => line(step, "true", ""),
        });
        Story::read(&lines.collect::<Vec<_>>().join("\n"))
    };
    let able = Client { cannot: &[], tells: &[], ..super::known::CLIENTS[0] };
    let faults = |story: &Story| story.faults(&able).len();
    assert_eq!(faults(&all("", "", "")), 0);
    assert_eq!(faults(&all("quick", "false", "")), 1);
    assert_eq!(faults(&all("quick", "null", "")), 1, "a client that falls silent");
    assert_eq!(faults(&all("input_decline", "true", "x is deleted.")), 1, "an answer that did not count");
    assert_eq!(faults(&Story::read("")), STEPS.len() + 1, "a story that nobody told");
    let unable = Client { cannot: &[("task", "")], refuses: "no words", ..able };
    let cannot = |story: &Story| story.faults(&unable).len();
    assert_eq!(cannot(&all("task", "null", "")), 0);
    assert_eq!(cannot(&all("task", "false", "there are no words")), 0);
    assert_eq!(cannot(&all("task", "false", "the gateway is wrong")), 1);
    assert_eq!(cannot(&all("task", "true", "")), 1, "what works is not impossible");
    let own = Client { tells: &[("task", "it broke", "")], ..able };
    let tells = |story: &Story| story.faults(&own).len();
    assert_eq!(tells(&all("task", "false", "it broke")), 0);
    assert_eq!(tells(&all("task", "false", "no answer")), 1);
    assert_eq!(tells(&all("task", "null", "")), 1, "a client that falls silent");
}
