//! A store around another one: every call goes through `around`, before it and after it, and may be held up, lost or refused there.

use jobgate::store::StoreError;

/// What `around` gives: nothing, or whether the call goes on.
pub(crate) trait Passage {
    fn pass(self) -> Result<(), StoreError>;
}

impl Passage for () {
    fn pass(self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Passage for Result<(), StoreError> {
    fn pass(self) -> Self {
        self
    }
}

/// Makes a struct with an `inner` store and a method `around(&self, call: &str)` a store.
macro_rules! wrapped_store {
    ($wrapper:ty) => {
        wrapped_store! { @calls $wrapper:
            create(task: jobgate::domain::Task, claimed_until: Option<jobgate::domain::Timestamp>, cause: jobgate::domain::Cause)
                -> jobgate::store::Created;
            get(id: &jobgate::domain::TaskId) -> Option<std::sync::Arc<jobgate::domain::Task>>;
            get_for(scope: &jobgate::domain::Scope, id: &jobgate::domain::TaskId) -> Option<std::sync::Arc<jobgate::domain::Task>>;
            commit(commit: jobgate::store::Commit) -> std::sync::Arc<jobgate::domain::Task>;
            claim_due(
                provider: &jobgate::domain::ProviderName, now: jobgate::domain::Timestamp, lease: std::time::Duration, limit: usize
            ) -> Vec<std::sync::Arc<jobgate::domain::Task>>;
            release(ids: &[jobgate::domain::TaskId]) -> ();
            snooze(id: &jobgate::domain::TaskId, until: jobgate::domain::Timestamp) -> ();
            next_due(provider: &jobgate::domain::ProviderName) -> Option<jobgate::domain::Timestamp>;
            providers() -> Vec<jobgate::domain::ProviderName>;
            find_by_job(provider: &jobgate::domain::ProviderName, job: &str) -> Option<jobgate::domain::TaskId>;
            find_by_key(
                owner: &jobgate::domain::Principal, tool: &jobgate::domain::ToolName, key: &jobgate::domain::CallerKey
            ) -> Option<jobgate::domain::TaskId>;
            find_by_client_id(owner: &jobgate::domain::Principal, client_id: &str) -> Option<jobgate::domain::TaskId>;
            find_by_request(
                owner: &jobgate::domain::Principal, request: &jobgate::domain::RequestName
            ) -> Option<jobgate::domain::TaskId>;
            find_by_join(
                owner: &jobgate::domain::Principal, tool: &jobgate::domain::ToolName, hash: &[u8; 32]
            ) -> Option<jobgate::domain::TaskId>;
            list(query: jobgate::store::ListQuery) -> Vec<std::sync::Arc<jobgate::domain::Task>>;
            audit(id: &jobgate::domain::TaskId) -> Vec<jobgate::store::AuditEntry>;
            expired(now: jobgate::domain::Timestamp, limit: usize) -> Vec<std::sync::Arc<jobgate::domain::Task>>;
            purge(tasks: &[(jobgate::domain::TaskId, jobgate::domain::Revision)]) -> usize;
            count_live(owner: &jobgate::domain::Principal) -> usize;
            seed(name: &str, fresh: [u8; 32]) -> [u8; 32];
            take(intake: jobgate::store::Intake) -> jobgate::store::Taken;
            was_taken(id: &jobgate::store::DeliveryId) -> bool;
            parked(
                provider: &jobgate::domain::ProviderName, addressee: &jobgate::store::Addressee
            ) -> Vec<jobgate::store::Parked>;
            all_parked(limit: usize) -> Vec<jobgate::store::ParkedKey>;
            dead_letters(limit: usize) -> Vec<jobgate::store::DeadLetter>;
            dead_letter(id: &jobgate::store::DeliveryId) -> Option<jobgate::store::DeadLetter>;
            drop_dead(ids: &[jobgate::store::DeliveryId]) -> usize;
            forget(now: jobgate::domain::Timestamp, limit: usize) -> Vec<jobgate::store::ParkedKey>;
            close() -> ();
        }
    };
    (@calls $wrapper:ty: $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait::async_trait]
        impl jobgate::store::TaskStore for $wrapper {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, jobgate::store::StoreError> {
                crate::wrapped::Passage::pass(self.around(stringify!($name)).await)?;
                let answer = self.inner.$name($($argument),*).await;
                crate::wrapped::Passage::pass(self.around(stringify!($name)).await)?;
                answer
            })*
        }
    };
}
