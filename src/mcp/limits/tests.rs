//! Each limit by itself, on a clock that stands still.

use super::*;
use crate::domain::{Caller, ManualClock, Timestamp};
use crate::mcp::frontend::Streams;

const MINUTE: Duration = Duration::from_secs(60);

fn limits(change: impl FnOnce(&mut CallerLimits)) -> (Arc<ManualClock>, Limits) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
    let mut settings = CallerLimits::UNLIMITED;
    change(&mut settings);
    let limits = Limits::new(&settings, clock.clone());
    (clock, limits)
}

fn from(name: &str, address: &str) -> RequestContext {
    let address = (!address.is_empty()).then(|| address.parse().unwrap());
    RequestContext { address, ..RequestContext::new(Caller::new(Principal::new("acme", name)), Streams::Wanted) }
}

fn one_a_minute() -> Option<Quota> {
    Some(Quota { count: 1, per: MINUTE, burst: 2 })
}

fn until_refused(mut ask: impl FnMut() -> bool) -> usize {
    (0..1000).take_while(|_| ask()).count()
}

/// G4: every kind that is counted over time is refused beyond its burst, with the time to come back, and only for who asked.
#[test]
fn each_kind_has_its_burst_and_its_rate() {
    type Change = fn(&mut CallerLimits);
    type Ask = fn(&Limits, &RequestContext) -> Result<(), RpcError>;
    let kinds: [(LimitKind, Change, Ask); 8] = [
        (LimitKind::Calls, |all| all.calls = one_a_minute(), |limits, context| limits.called(context)),
        (
            LimitKind::Creations,
            |all| all.creations = one_a_minute(),
            |limits, context| limits.asked(context, "tools/call", Some("render")),
        ),
        (LimitKind::Lists, |all| all.lists = one_a_minute(), |limits, context| limits.asked(context, "tasks/list", None)),
        (LimitKind::Results, |all| all.results = one_a_minute(), |limits, context| limits.asked(context, "tasks/result", None)),
        (LimitKind::Lists, |all| all.lists = one_a_minute(), |limits, context| limits.asked(context, "resources/list", None)),
        (LimitKind::Results, |all| all.results = one_a_minute(), |limits, context| limits.asked(context, "resources/read", None)),
        // Asking after a job starts none.
        (
            LimitKind::Results,
            |all| all.results = one_a_minute(),
            |limits, context| limits.asked(context, "tools/call", Some("job_wait")),
        ),
        (
            LimitKind::UnknownIds,
            |all| all.unknown_ids = one_a_minute(),
            |limits, context| {
                let answer = limits.unknown(context, RpcError::invalid_params("unknown"));
                if answer.code() == -32602 { Ok(()) } else { Err(answer) }
            },
        ),
    ];
    for (kind, change, ask) in kinds {
        let (clock, limits) = limits(change);
        let ann = from("ann", "");
        assert_eq!(until_refused(|| ask(&limits, &ann).is_ok()), 2, "{kind:?}");
        let refusal = ask(&limits, &ann).unwrap_err();
        assert_eq!((refusal.code(), refusal.http(), refusal.retry_after()), (-32603, 429, Some(60)), "{kind:?}");
        assert!(ask(&limits, &from("bob", "")).is_ok(), "{kind:?}");
        for method in ["tasks/get", "ping"] {
            assert!(limits.asked(&ann, method, None).is_ok(), "{method} is not {kind:?}");
        }
        clock.advance(MINUTE);
        assert!(ask(&limits, &ann).is_ok(), "{kind:?}");
        assert_eq!((limits.counters().seen(kind), limits.counters().refused(kind)), (6, 2), "{kind:?}");
    }
}

#[test]
fn an_address_may_be_several_principals_and_no_more() {
    let (_, limits) = limits(|all| {
        all.calls = one_a_minute();
        all.principals_per_address = Some(2);
    });
    let let_in = (0..10).filter(|number| limits.called(&from(&number.to_string(), "192.0.2.1")).is_ok()).count();
    assert_eq!(let_in, 4);
    assert!(limits.called(&from("other", "192.0.2.2")).is_ok());
    // Neither another spelling nor another address of one network is another address.
    assert!(limits.called(&from("other", "::ffff:192.0.2.1")).is_err());
    let network = (0..10).filter(|number| limits.called(&from(&format!("v6-{number}"), &format!("2001:db8::{number}"))).is_ok());
    assert_eq!(network.count(), 4);
}

/// Without authentication one address that floods does not shut out the others.
#[test]
fn without_authentication_each_address_is_a_principal() {
    let (_, limits) = limits(|all| all.calls = one_a_minute());
    let local = |address: &str| RequestContext {
        address: Some(address.parse().unwrap()),
        ..RequestContext::new(Caller::local(), Streams::Wanted)
    };
    assert_eq!(until_refused(|| limits.called(&local("192.0.2.1")).is_ok()), 2);
    assert!(limits.called(&local("192.0.2.2")).is_ok());
}

#[test]
fn bad_tokens_are_counted_by_address() {
    let (_, limits) = limits(|all| all.bad_tokens = one_a_minute());
    let address = |text: &str| Some(text.parse().unwrap());
    assert_eq!(until_refused(|| limits.bad_token(address("192.0.2.1")).is_ok()), 2);
    assert!(limits.bad_token(address("192.0.2.2")).is_ok());
    assert_eq!(limits.counters().refused(LimitKind::BadTokens), 1);
}

#[test]
fn streams_and_waiters_are_counted_while_they_last() {
    let (_, limits) = limits(|all| (all.streams, all.waiters) = (Some(1), Some(2)));
    let ann = from("ann", "192.0.2.1");
    let stream = limits.stream(&ann).unwrap();
    let waiters = [limits.waiter(&ann).unwrap(), limits.waiter(&ann).unwrap()];
    assert_eq!(limits.stream(&from("ann", "192.0.2.2")).unwrap_err().http(), 429, "wherever it calls from");
    assert_eq!(limits.waiter(&ann).unwrap_err().retry_after(), Some(5));
    assert!(limits.stream(&from("bob", "192.0.2.1")).is_ok());
    drop((stream, waiters));
    assert!(limits.stream(&ann).is_ok() && limits.waiter(&ann).is_ok());
}

/// D1: a client that looks without pause gets its burst, and then about four answers an interval, each held back until it is due.
#[tokio::test]
async fn a_client_that_looks_without_pause_is_slowed_down() {
    let (clock, limits) = limits(|all| all.polls_per_interval = Some(4));
    let (ann, task) = (from("ann", ""), TaskId::from_bytes([7; 16]));
    let interval = Duration::from_secs(1);
    let start = clock.now();
    let mut answers = 0;
    while clock.now() < start.plus(10 * interval) {
        let look = limits.polled(&ann, &task, interval);
        tokio::pin!(look);
        loop {
            tokio::select! {
                biased;
                answer = &mut look => {
                    answer.unwrap();
                    answers += 1;
                    break;
                }
                () = tokio::task::yield_now() => clock.set(clock.next_wake().unwrap()),
            }
        }
    }
    assert!((55..=65).contains(&answers), "{answers} answers in 10 intervals");
    assert!(limits.polled(&from("bob", ""), &task, interval).await.is_ok(), "others have their own");
    assert!(limits.counters().refused(LimitKind::Polls) > 30);
}

/// D1: who looks many times at once is not served more by that.
#[tokio::test]
async fn looks_at_once_beyond_what_can_be_held_back_are_refused() {
    let (_, limits) = limits(|all| all.polls_per_interval = Some(4));
    let (ann, task) = (from("ann", ""), TaskId::from_bytes([7; 16]));
    let slow = Duration::from_secs(128);
    for _ in 0..POLL_BURST {
        assert!(limits.polled(&ann, &task, slow).await.is_ok());
    }
    assert_eq!(limits.polled(&ann, &task, slow).await.unwrap_err().retry_after(), Some(32));
}

#[test]
fn a_class_is_never_stricter_than_its_tasks_interval() {
    for (millis, interval) in [(1, 250), (250, 250), (999, 500), (1000, 1000), (5000, 4000), (30_000, 16_000), (900_000, 128_000)]
    {
        let found = SHORTEST_INTERVAL * (1 << class(Duration::from_millis(millis)));
        assert_eq!(found, Duration::from_millis(interval), "{millis}");
    }
}

/// What a subscriber wrote.
#[derive(Clone, Default)]
struct Written(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// L5: somebody who looks for tasks that are not there is named in the log, once a minute however often it happens, and with how
/// often it did.
#[test]
fn a_suspicious_pattern_is_told_once_a_minute() {
    let (clock, limits) = limits(|all| all.unknown_ids = Some(Quota { count: 1, per: 60 * MINUTE, burst: 1 }));
    let written = Written::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let lines = || String::from_utf8(std::mem::take(&mut *written.0.lock().unwrap())).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        let look = |times: usize| {
            for _ in 0..times {
                limits.unknown(&from("mallory", "192.0.2.1"), RpcError::invalid_params("unknown"));
            }
        };
        look(1);
        assert_eq!(lines(), "", "once is nothing");
        look(500);
        let told = lines();
        assert_eq!(told.lines().count(), 1, "{told}");
        for part in ["WARN", "pattern=\"unknown_ids\"", "whose=acme/mallory", "refused=1"] {
            assert!(told.contains(part), "`{part}` is missing in {told}");
        }
        clock.advance(MINUTE);
        look(1);
        assert!(lines().contains("refused=500"));
    });
}
