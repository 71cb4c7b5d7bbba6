//! Kills under load: gateways that are killed with SIGKILL at random moments, also while they start, under callers who keep
//! calling. Afterwards every wish has its result, and the provider has run one job for each.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

#[path = "crash_under_load/provider.rs"]
mod provider;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jobgate_adapter_api::{FixedRandom, Random};
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::scratch;
use jobgate_test_support::wait::{self, Watch};
use jobgate_test_support::wire::Wire;
use serde_json::{Value, json};

use provider::Provider;

/// Kills over all gateways.
const KILLS: usize = 220;

/// Gateways that live and die at the same time, each with its own data.
const GATEWAYS: usize = 2;

/// Callers of one gateway; each has one wish at a time.
const CALLERS: usize = 10;

/// The longest a wish may take once nobody kills any more.
const SETTLE: Duration = Duration::from_secs(60);

/// Kills stop by then, whatever their number: then the test says that it was too slow.
const KILLING: Duration = Duration::from_secs(240);

/// C1, C4, K2: 220 kills at random moments: nothing lost, nothing doubled, nothing stuck.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_doubled_or_stuck() {
    let folder = scratch::in_memory();
    let provider = Provider::default();
    let address = provider.serve().await;
    let config = folder.path().join("jobgate.yaml");
    std::fs::write(&config, CONFIG.replace("ADDRESS", &address.to_string())).unwrap();

    let watch = Watch::start();
    let run = Run::default();
    let setups: Vec<Setup> = (0..GATEWAYS)
        .map(|nth| {
            let home = folder.path().join(format!("gateway{nth}"));
            std::fs::create_dir(&home).unwrap();
            Setup::new(env!("CARGO_BIN_EXE_jobgate"), &home).config(&config)
        })
        .collect();
    let work = setups.iter().enumerate().map(|(nth, setup)| {
        let callers = (0..CALLERS).map(move |caller| (nth, caller));
        let callers = futures_util::future::join_all(callers.map(|(nth, caller)| calls(&run, setup, nth, caller)));
        let killer = kill(&run, setup, nth, &watch);
        futures_util::future::join(callers, killer)
    });
    futures_util::future::join_all(work).await;

    let ends = run.ends.into_inner().unwrap();
    let kills = run.kills.into_inner();
    let jobs = provider.jobs_per_wish();
    let wrong: BTreeMap<&String, &String> = ends.iter().filter(|(wish, end)| wish != end).collect();
    let unstarted: Vec<&String> = ends.keys().filter(|wish| !jobs.contains_key(*wish)).collect();
    let doubled: Vec<(&String, &usize)> = jobs.iter().filter(|(_, count)| **count > 1).collect();
    println!(
        "{kills} kills of {GATEWAYS} gateways in {} s; {} wishes, {} jobs; {} lost, {} doubled, {} stuck",
        watch.elapsed().as_secs(),
        ends.len(),
        jobs.values().sum::<usize>(),
        unstarted.len() + wrong.values().filter(|end| !end.starts_with("stuck")).count(),
        doubled.len(),
        wrong.values().filter(|end| end.starts_with("stuck")).count(),
    );
    assert!(kills >= 200, "too slow: {kills} kills");
    assert!(ends.len() >= kills, "a kill should find work: {} wishes", ends.len());
    assert!(wrong.is_empty(), "lost or stuck: {wrong:#?}");
    assert!(unstarted.is_empty() && doubled.is_empty(), "never started {unstarted:?}, doubled {doubled:?}");
    assert!(jobs.keys().all(|wish| ends.contains_key(wish)), "a job that nobody wished for");
}

/// What all callers and killers of a run share.
#[derive(Debug, Default)]
struct Run {
    kills: AtomicUsize,
    over: [AtomicBool; GATEWAYS],
    /// What each wish came to; a good end is the wish itself, as its job gives it back.
    ends: Mutex<BTreeMap<String, String>>,
}

/// Starts the gateway and kills it, again and again; at the end it stays up until the callers are done.
async fn kill(run: &Run, setup: &Setup, nth: usize, watch: &Watch) {
    let random = FixedRandom::new(u64::try_from(nth).unwrap() + 1);
    while run.kills.load(Ordering::SeqCst) < KILLS && watch.elapsed() < KILLING {
        let mut bytes = [0; 2];
        random.fill(&mut bytes);
        let delay = Duration::from_millis(u64::from(bytes[0]) * 2);
        if bytes[1] % 4 == 0 {
            // Not before it is ready: the kill finds it in the middle of its recovery.
            let starting = setup.launch();
            wait::pause(delay / 2).await;
            starting.kill();
        } else {
            let gateway = setup.start().await;
            wait::pause(delay).await;
            gateway.kill();
        }
        run.kills.fetch_add(1, Ordering::SeqCst);
    }
    let gateway = setup.start().await;
    run.over[nth].store(true, Ordering::SeqCst);
    wait::until_async("the callers to be done", SETTLE * 3, async || {
        let open = run.ends.lock().unwrap().values().filter(|end| *end == OPEN).count();
        (open == 0 && run.over.iter().all(|over| over.load(Ordering::SeqCst))).then_some(())
    })
    .await;
    assert!(gateway.stop().success(), "a gateway that survived stops in order");
}

const OPEN: &str = "open";

/// One caller: a wish after the other, until the kills are over and the last one has its end.
async fn calls(run: &Run, setup: &Setup, gateway: usize, caller: usize) {
    let wire = Wire::new(&setup.url());
    let tool = if caller.is_multiple_of(2) { "keyed" } else { "found" };
    for number in 0.. {
        let over = || run.over[gateway].load(Ordering::SeqCst);
        if over() {
            return;
        }
        let wish = format!("{tool}-{gateway}-{caller}-{number}");
        run.ends.lock().unwrap().insert(wish.clone(), OPEN.to_owned());
        let mut since_over = None;
        let end = loop {
            match grant(&wire, tool, &wish).await {
                Some(end) => break end,
                None if over() => {
                    let watch = since_over.get_or_insert_with(Watch::start);
                    if watch.elapsed() > SETTLE {
                        break "stuck".to_owned();
                    }
                }
                None => {}
            }
            wait::pause(Duration::from_millis(40)).await;
        };
        run.ends.lock().unwrap().insert(wish, end);
    }
}

/// Asks for the wish by its key, which gives the same task every time, and looks at the task once. `None` when it has not ended or
/// nobody answers.
async fn grant(wire: &Wire, tool: &str, wish: &str) -> Option<String> {
    let params = json!({ "name": tool, "arguments": { "wish": wish }, "_meta": { "idempotencyKey": wish } });
    let handle = match wire.rpc("tools/call", params).await {
        Ok(handle) => handle,
        Err(error) if error.code == 0 => return None,
        Err(error) => return Some(format!("tools/call: {error:?}")),
    };
    let id = handle["taskId"].as_str()?;
    match wire.task(id).await {
        Ok(task) => end_of(&task),
        Err(error) if error.code == 0 => None,
        Err(error) => Some(format!("tasks/get: {error:?}")),
    }
}

fn end_of(task: &Value) -> Option<String> {
    match task["status"].as_str()? {
        "completed" => Some(task["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()),
        "failed" | "cancelled" => Some(task.to_string()),
        _ => None,
    }
}

const CONFIG: &str = r#"
providers:
  keyed: { adapter: rest, base_url: "http://ADDRESS/keyed" }
  found: { adapter: rest, base_url: "http://ADDRESS/found" }
tools:
  keyed:
    provider: keyed
    description: A job at a provider that keeps the first job of a key.
    input: { type: object, properties: { wish: { type: string } }, required: [wish] }
    task: { mode: required, poll: { initial: 50ms, max: 200ms } }
    job:
      idempotent: true
      submit:
        request: { path: /jobs, headers: { Idempotency-Key: "{{ key }}" }, body: { wish: "{{ args.wish }}" } }
        job: { id: "{{ body.id }}" }
      status:
        request: { path: "/jobs/{{ job.id }}" }
        rules:
          - { when: "body.state == 'done'", state: succeeded }
          - { when: "body.state == 'running'", state: running }
      result: { text: "{{ body.wish }}" }
  found:
    provider: found
    description: A job at a provider that finds a job by its tag.
    input: { type: object, properties: { wish: { type: string } }, required: [wish] }
    task: { mode: required, poll: { initial: 50ms, max: 200ms }, gone_grace: 1s }
    job:
      submit:
        request: { path: /jobs, body: { wish: "{{ args.wish }}", tag: "{{ key }}" } }
        job: { id: "{{ body.id }}" }
      find:
        request: { path: /jobs, query: { tag: "{{ key }}" } }
        job: { id: "{{ body.jobs[0].id }}" }
      status:
        request: { path: "/jobs/{{ job.id }}" }
        rules:
          - { when: "body.state == 'done'", state: succeeded }
          - { when: "body.state == 'running'", state: running }
      result: { text: "{{ body.wish }}" }
"#;
