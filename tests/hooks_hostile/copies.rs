//! Copies of deliveries: exact ones, those with other unsigned parts, and many at once.

use std::sync::Barrier;
use std::time::Duration;

use jobgate_test_support::wait;

use crate::gate::{Delivery, Gate, says, signed};

const LIMIT: Duration = Duration::from_secs(10);

/// J2: what was taken once is answered as then, and has no effect any more.
#[tokio::test(flavor = "multi_thread")]
async fn n054_an_exact_copy() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let running = signed("signed", "msg_1", says(&job, "running"));
    let first = gate.throw(running.bytes());
    let second = gate.throw(running.bytes());
    assert_eq!((first.status, second.status, &first.body), (200, 200, &second.body), "the sender sees no difference");
    assert_eq!(gate.send(&signed("signed", "msg_2", says(&job, "done"))), 200);
    assert_eq!(gate.ended(&task).await, "completed");
    assert_eq!(gate.send(&running), 200, "and nothing is undone");
    assert_eq!(gate.status(&task).await, "completed");
    assert_eq!(gate.count("signed", "repeat").await, 2);
    gate.honest().await;
}

/// J2: what is not signed does not make another delivery.
#[tokio::test(flavor = "multi_thread")]
async fn n056_another_unsigned_id_n057_another_order() {
    let gate = Gate::start().await;
    let (_, job) = gate.job("hub").await;
    let hub = signed("hub", "", says(&job, "running"));
    for id in ["72d3162e-cc78-11e3-81ab-4c9367dc0958", "72d3162e-cc78-11e3-81ab-4c9367dc0959"] {
        assert_eq!(gate.send(&hub.clone().with("X-GitHub-Delivery", id)), 200);
    }
    assert_eq!(gate.count("hub", "repeat").await, 1);
    let (_, call) = gate.job("phone").await;
    let phone = signed("phone", "", format!("CallSid={call}&Digits=1"));
    assert_eq!(gate.send(&phone), 200);
    for body in [format!("Digits=1&CallSid={call}"), format!("CallSid={call}&Digits=1&Digits=1")] {
        assert_eq!(gate.send(&Delivery { body: body.into_bytes(), ..phone.clone() }), 200);
    }
    assert_eq!(gate.count("phone", "conflict").await, 2, "the same delivery, though its bytes are others");
}

/// J2: of copies that come at once one has an effect.
#[tokio::test(flavor = "multi_thread")]
async fn n058_copies_at_once() {
    const COPIES: u64 = 24;
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let bytes = signed("signed", "msg_1", says(&job, "done")).bytes();
    let together = Barrier::new(usize::try_from(COPIES).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..COPIES {
            scope.spawn(|| {
                let mut raw = gate.open();
                together.wait();
                raw.send(&bytes);
                assert_eq!(raw.answer().unwrap().status, 200);
            });
        }
    });
    assert_eq!(gate.ended(&task).await, "completed");
    assert_eq!((gate.count("signed", "applied").await, gate.count("signed", "repeat").await), (1, COPIES - 1));
    gate.honest().await;
}

/// J4: whatever order they come in, an ended task stays as it ended.
#[tokio::test(flavor = "multi_thread")]
async fn n062_the_end_before_the_beginning() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    assert_eq!(gate.send(&signed("signed", "msg_2", says(&job, "done"))), 200);
    assert_eq!(gate.ended(&task).await, "completed");
    assert_eq!(gate.send(&signed("signed", "msg_1", says(&job, "running"))), 200);
    assert_eq!(gate.status(&task).await, "completed");
    assert_eq!(gate.count("signed", "late").await, 1);
    gate.honest().await;
}

/// J4: a hint makes us ask, and the provider's answer is what counts.
#[tokio::test(flavor = "multi_thread")]
async fn n064_a_hint_that_the_provider_does_not_confirm() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("hub").await;
    let looks = gate.farm.looks(&job);
    assert_eq!(gate.send(&signed("hub", "", says(&job, "done"))), 200);
    wait::until("a look at the job", LIMIT, || (gate.farm.looks(&job) > looks).then_some(()));
    assert_eq!(gate.status(&task).await, "working", "the provider says that it runs");
    gate.farm.set(&job, "done");
    assert_eq!(gate.send(&signed("hub", "", says(&job, "running"))), 200);
    assert_eq!(gate.ended(&task).await, "completed", "the provider says that it is done");
}

/// J2, J4: whatever was acknowledged had its effect before a crash, and what was not is sent again.
#[tokio::test(flavor = "multi_thread")]
async fn n066_a_crash_among_deliveries() {
    let mut gate = Gate::start().await;
    let mut jobs = Vec::new();
    for _ in 0..12 {
        jobs.push(gate.job("signed").await);
    }
    let deliveries: Vec<Delivery> =
        jobs.iter().map(|(_, job)| signed("signed", &format!("end-{job}"), says(job, "done"))).collect();
    let mut open: Vec<_> = deliveries.iter().map(|delivery| (gate.open(), delivery.bytes())).collect();
    for (raw, bytes) in &mut open {
        raw.send(&*bytes);
    }
    // Some are answered, the others are anywhere between the socket and the disk.
    let answered: Vec<bool> = open.iter_mut().take(4).map(|(raw, _)| raw.answer().unwrap().status == 200).collect();
    assert_eq!(answered, [true; 4]);
    gate = gate.crash().await;
    for ((task, _), _) in jobs.iter().zip(answered) {
        assert_eq!(gate.status(task).await, "completed", "acknowledged, so it stays");
    }
    for delivery in &deliveries {
        assert_eq!(gate.send(delivery), 200, "sent again");
    }
    for (task, _) in &jobs {
        assert_eq!(gate.ended(task).await, "completed");
    }
    gate.honest().await;
}
