//! A cancel that the provider takes and that does not stop the job is made again in a harder way (providers-workflow.md, G2), and every
//! call knows of the wish (E6).

use jobgate::domain::{CancelOutcome, CancelProgress, Clock, Escalation, Status, TaskId, Timestamp};
use jobgate::engine::DeleteError;
use jobgate_adapter_api::{CancelWish, ErrorKind, Operation, Retry};

use crate::fake::{Trouble, done, running};
use crate::rig::{HOUR, MINUTE, Rig, SECOND, me};

/// A running job that has just taken a cancel, and the moment of that. Where it is `stubborn` it runs on.
async fn taken(stubborn: bool, at_once: bool) -> (Rig, TaskId, Timestamp) {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    rig.fake.state().stubborn = stubborn;
    rig.fake.state().capabilities.escalates_after = Some(2 * MINUTE);
    let id = rig.task(1).await.id;
    rig.advance(10 * SECOND).await;
    let asked = rig.clock.now();
    rig.engine().cancel(&me(), &id, at_once).await.unwrap();
    rig.settle().await;
    assert_eq!(cancels(&rig), [Some(CancelWish { requested_at: asked, escalated: false })]);
    (rig, id, asked)
}

fn cancels(rig: &Rig) -> Vec<Option<CancelWish>> {
    told(rig, Operation::Cancel)
}

fn told(rig: &Rig, of: Operation) -> Vec<Option<CancelWish>> {
    rig.fake.state().wishes.iter().filter(|(operation, _)| *operation == of).map(|(_, wish)| *wish).collect()
}

/// G2: a job that runs on is told again after the time that the adapter names, once, and the task settles as the job does.
#[tokio::test]
async fn a_job_that_runs_on_is_told_again_in_a_harder_way() {
    let (rig, id, asked) = taken(true, false).await;
    rig.advance(2 * MINUTE - SECOND).await;
    assert_eq!(cancels(&rig).len(), 1, "not before its time");
    rig.advance(SECOND).await;
    assert_eq!(cancels(&rig)[1..], [Some(CancelWish { requested_at: asked, escalated: true })]);
    assert_eq!(rig.fake.calls(Operation::Cancel)[1].since(asked), 2 * MINUTE);
    assert_eq!(rig.get(&id).await.status(), Status::Cancelled);
    rig.advance(HOUR).await;
    assert_eq!(cancels(&rig).len(), 2);
    assert!(rig.audit(&id).await.contains(&"cancel_escalated".to_owned()));
}

/// G2: a task that was cancelled at once has ended, and its job is told again all the same; until then it cannot be deleted.
#[tokio::test]
async fn the_job_of_a_task_that_was_cancelled_at_once_is_told_again_too() {
    let (rig, id, _) = taken(true, true).await;
    assert_eq!(rig.get(&id).await.status(), Status::Cancelled);
    assert!(matches!(rig.engine().delete(&me(), &id).await, Err(DeleteError::Running)));
    rig.advance(HOUR).await;
    assert_eq!(cancels(&rig).len(), 2);
    assert!(rig.fake.jobs()[0].cancelled);
    let task = rig.get(&id).await;
    assert_eq!((task.message.as_deref(), task.due_at), (Some("cancelled"), None));
    rig.engine().delete(&me(), &id).await.unwrap();
}

/// G2: what stopped at the first word is not told a second time, whether its task has ended or not.
#[tokio::test]
async fn a_job_that_heeds_the_first_is_not_told_again() {
    for at_once in [false, true] {
        let (rig, id, _) = taken(false, at_once).await;
        rig.advance(HOUR).await;
        assert_eq!(cancels(&rig).len(), 1);
        let task = rig.get(&id).await;
        assert_eq!((task.status(), task.due_at), (Status::Cancelled, None));
        assert_eq!(task.cancellation.as_ref().map(|wish| wish.escalation), Some(Escalation::None));
        assert_eq!(rig.audit(&id).await.contains(&"cancel_heeded".to_owned()), at_once);
    }
}

/// G2: a job that ends by itself before its time is not told again, and its end counts.
#[tokio::test]
async fn a_job_that_ends_meanwhile_is_not_told_again() {
    let (rig, id, _) = taken(true, false).await;
    rig.fake.plan([done("film")]);
    rig.advance(HOUR).await;
    assert_eq!((rig.get(&id).await.status(), cancels(&rig).len()), (Status::Completed, 1));
}

/// G2: the moment survives a crash, and so does what was begun: nobody forgets it, and a provider that is down is told later.
#[tokio::test]
async fn a_harder_way_survives_a_crash() {
    for at_once in [false, true] {
        let (mut rig, id, asked) = taken(true, at_once).await;
        rig.advance(MINUTE).await;
        rig.crash().await;
        rig.fake.trouble(Operation::Cancel, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff)]);
        rig.advance(MINUTE).await;
        assert_eq!(cancels(&rig).len(), 2, "at its time, counted from the first");
        rig.crash().await;
        rig.advance(MINUTE).await;
        let harder = Some(CancelWish { requested_at: asked, escalated: true });
        assert_eq!(cancels(&rig)[1..], [harder, harder]);
        assert!(rig.fake.jobs()[0].cancelled);
        assert_eq!(rig.get(&id).await.status(), Status::Cancelled);
    }
}

/// G2: a provider that refuses the harder way has taken the first all the same; nothing is told a third time.
#[tokio::test]
async fn a_harder_way_that_is_refused_leaves_the_first_standing() {
    let (rig, id, _) = taken(true, false).await;
    rig.fake.state().cancel = CancelOutcome::Refused;
    rig.advance(10 * MINUTE).await;
    let task = rig.get(&id).await;
    let wish = task.cancellation.as_ref().map(|wish| (wish.progress, wish.escalation));
    assert_eq!((task.status(), wish), (Status::Working, Some((CancelProgress::Taken, Escalation::Made))));
    assert_eq!(cancels(&rig).len(), 2);
}

/// E6: looks know of the wish from the moment it was made; of one that the provider refused they know nothing.
#[tokio::test]
async fn looks_know_of_the_wish() {
    let (rig, _, asked) = taken(true, false).await;
    rig.advance(MINUTE).await;
    let looks = told(&rig, Operation::Poll);
    assert_eq!(looks.first(), Some(&None));
    assert_eq!(looks.last(), Some(&Some(CancelWish { requested_at: asked, escalated: false })));
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    rig.fake.state().cancel = CancelOutcome::Refused;
    let id = rig.task(1).await.id;
    rig.engine().cancel(&me(), &id, false).await.unwrap();
    rig.advance(MINUTE).await;
    assert_eq!(told(&rig, Operation::Poll).last(), Some(&None));
}
