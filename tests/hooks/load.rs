//! Many at once: one effect of two copies, a cap on deliveries, and no flood that is another route's.

use crate::rig::{Does, Gate, NOW, signed, signed_as};

/// Hostile 58: of copies that arrive at once exactly one counts, and all are acknowledged.
#[tokio::test]
async fn copies_at_once_count_once() {
    let gate = Gate::new();
    let sent = signed("standard_webhooks");
    let answers = futures_util::future::join_all((0..50).map(|_| gate.send(sent.request()))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(gate.taken().len(), 1);
    let provider = "standard-webhooks";
    assert_eq!((gate.counted(provider, "applied"), gate.counted(provider, "repeat")), (1, 49));
}

/// J5, hostile 104: as many as a route takes at once, and then 503 with a word when to come again; other routes go on.
#[tokio::test]
async fn a_flood_of_one_route_is_no_others() {
    let gate = Gate::new();
    gate.does(Does::Hangs);
    let mut flood = Vec::new();
    for id in 0..512 {
        let body = format!("{{\"number\":{id}}}");
        let mut sent = Box::pin(gate.send(signed_as("github", "github", "1", body.as_bytes(), NOW).request()));
        tokio::select! {
            biased;
            answer = &mut sent => panic!("{id}: {answer:?}"),
            () = gate.intake.arrived.notified() => {}
        }
        flood.push(sent);
    }
    let answer = gate.send(signed("github").request()).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
    assert_eq!(gate.counted("github", "too_many"), 1);
    gate.does(Does::Takes);
    assert_eq!(gate.send(signed("stripe").request()).await.status, 200);
    // A sender that goes away makes room.
    drop(flood.pop());
    assert_eq!(gate.send(signed("github").request()).await.status, 200);
    gate.intake.go_on.notify_waiters();
    for sent in flood {
        assert_eq!(sent.await.status, 200);
    }
}
