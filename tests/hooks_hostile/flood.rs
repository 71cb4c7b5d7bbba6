//! Many forged deliveries while good ones pass; deliveries of jobs of nobody's.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jobgate_test_support::wait::Watch;

use crate::gate::{Gate, says, setup, signed};

/// J2: forged deliveries are refused cheaply, and good ones have their effect meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn forged_deliveries_keep_no_good_one_waiting() {
    const SENDERS: usize = 8;
    let gate = Gate::start().await;
    gate.honest().await;
    let before = gate.resident();
    let stop = AtomicBool::new(false);
    let forged = AtomicUsize::new(0);
    let good = signed("signed", "msg_1", says("job-0", "done"));
    let mut slowest = Duration::ZERO;
    let mut jobs = Vec::new();
    for _ in 0..20 {
        jobs.push(gate.job("signed").await);
    }
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (gate, stop, forged) = (&gate, &stop, &forged);
            let bytes = good.clone().set("webhook-id", format!("forged-{sender}")).bytes();
            scope.spawn(move || {
                let mut raw = gate.open();
                let piece: Vec<u8> = bytes.iter().copied().cycle().take(bytes.len() * 20).collect();
                while !stop.load(Ordering::Relaxed) {
                    raw.send(&piece);
                    for _ in 0..20 {
                        assert_eq!(raw.answer().unwrap().status, 401);
                    }
                    forged.fetch_add(20, Ordering::Relaxed);
                }
            });
        }
        for (_, job) in &jobs {
            let bytes = signed("signed", &format!("end-{job}"), says(job, "done")).bytes();
            let watch = Watch::start();
            assert_eq!(gate.throw(bytes).status, 200);
            slowest = slowest.max(watch.elapsed());
        }
        stop.store(true, Ordering::Relaxed);
    });
    for (task, _) in &jobs {
        assert_eq!(gate.ended(task).await, "completed");
    }
    let forged = forged.load(Ordering::Relaxed);
    assert!(forged > 500, "{forged} forged ones");
    assert!(slowest < Duration::from_secs(2), "{slowest:?} beside {forged} forged ones");
    let counted = gate.count("signed", "signature").await;
    assert_eq!(counted, u64::try_from(forged).unwrap(), "each is counted with its reason");
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 40 * 1024, "{grown} KiB for {forged} forged deliveries");
    gate.honest().await;
}

/// J3, J4: what tells of no job of ours is taken, and nothing more; what cannot be read is 400.
#[tokio::test(flavor = "multi_thread")]
async fn n073_n074_deliveries_of_nobodys_jobs_and_of_nothing() {
    let gate = Gate::start().await;
    assert_eq!(gate.send(&signed("hub", "", says("job-of-another", "done"))), 200);
    for (at, body) in ["", "null", "[]", "\"\"", "0", "{", r#"{"id":{}}"#, r#"{"id":null}"#].iter().enumerate() {
        assert_eq!(gate.send(&signed("signed", &format!("msg_{at}"), body)), 400, "{body}");
    }
    let deep = format!(r#"{{"id":"x","deep":{}"#, "[".repeat(30_000));
    assert_eq!(gate.send(&signed("signed", "msg_deep", deep)), 400);
    let doubled = r#"{"id":"x","status":"running","status":"done"}"#;
    assert_eq!(gate.send(&signed("signed", "msg_doubled", doubled)), 400);
    assert_eq!(gate.send(&signed("signed", "msg_bytes", b"\xff\xfe{}".as_slice())), 400, "verified, and no text");
    gate.honest().await;
}

/// J1: a route without signatures is its address; no other address opens it.
#[tokio::test(flavor = "multi_thread")]
async fn n098_an_unsigned_route_is_its_address() {
    let gate = Gate::start().await;
    let (_, job) = gate.job("silent").await;
    let good = signed("silent", "", says(&job, "running"));
    let mut other = good.clone();
    for path in ["/hooks/silent", "/hooks/silent/", "/hooks/silent/the-token-of-the-silent-rout", "/hooks/silent/%74he-token"] {
        path.clone_into(&mut other.path);
        let status = gate.send(&other);
        assert!([401, 404].contains(&status), "{path}: {status}");
    }
    assert_eq!(gate.send(&good), 200);
    gate.honest().await;
}

/// L4: a secret that cannot be had, or is none, is told at the start: no route goes without, and none has another's.
#[test]
fn n097_a_reference_that_leads_nowhere_n094_secrets_that_are_none() {
    for (given, told) in [
        (None, "SECRET_HUB"),
        (Some(""), "SECRET_HUB"),
        (Some("too-short"), "16"),
        (Some("a secret with an end\n"), "line break"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let setup =
            setup(folder.path(), 1, |name, usual| if name == "hub" { given.map(str::to_owned) } else { Some(usual.to_owned()) });
        let config = folder.path().join("jobgate.yaml");
        let mut command = setup.command(&["serve", "--listen", "127.0.0.1:0", "--data", "jobgate-data", "--config"]);
        let output = command.arg(&config).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(told), "{given:?}: {said}");
        assert!(given.is_none_or(|given| given.trim().len() < 4 || !said.contains(given.trim())), "{said}");
    }
}
