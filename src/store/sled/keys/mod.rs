//! The keys of the one sled tree: a letter, then what the row is found by. Numbers are big-endian, so rows lie in their order.
//!
//! | letter | found by | holds |
//! |---|---|---|
//! | `t` | task | the record |
//! | `t` | task, `a`, revision, place | one entry of the audit trail; beside the record, so that a change touches one page for both |
//! | `w` | task | what is still to be watched of it: live, due, owner, provider |
//! | `c` | created, task | nothing: everybody's tasks in order |
//! | `o` | owner, created, task | nothing: an owner's tasks in order |
//! | `n` | tenant, created, task | nothing: a tenant's tasks in order |
//! | `e` | end of life, task | nothing |
//! | `j` | provider and job, created, task | nothing |
//! | `k` | owner, tool and caller key | the task |
//! | `i` | owner and client id | the task |
//! | `r` | owner and request, created, task | nothing |
//! | `g` | owner, tool and hash | the task that a call may join |
//! | `b` | body, task, or the key of what else needs it | nothing: who needs the body |
//! | `d` | delivery | that it was taken: until when that is remembered, its body's hash |
//! | `x` | end of memory, delivery | nothing |
//! | `p` | provider, addressee, delivery | a parked delivery |
//! | `q` | provider, when it came, addressee, delivery | nothing: a provider's parked deliveries in order |
//! | `u` | end of waiting, provider, addressee, delivery | nothing |
//! | `l` | delivery | a dead letter |
//! | `y` | when it was laid aside, delivery | nothing: dead letters in order |
//! | `s` | name | a seed |
//! | `m` | | counts, see [`super::meta`] |

mod deliveries;

use sha2::{Digest, Sha256};

pub(super) use self::deliveries::*;
use super::db::Db;
use crate::domain::{
    CallerKey, Principal, ProviderName, RequestName, Revision, Scope, Status, Task, TaskId, Timestamp, ToolName,
};
use crate::store::StoreError;
use crate::store::record::{BodyRef, hex};

/// A row: its key and its value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// The row of counts.
pub(super) const META: &[u8] = b"m";

/// Stands for an owner in keys, whatever the length of its name.
pub(super) type OwnerKey = [u8; 16];

pub(super) fn record(id: TaskId) -> Vec<u8> {
    key(b't', &[id.as_bytes()])
}

pub(super) fn watch(id: TaskId) -> Vec<u8> {
    key(b'w', &[id.as_bytes()])
}

/// The prefix of the rows of a scope's tasks.
pub(super) fn within(scope: &Scope) -> Vec<u8> {
    match scope {
        Scope::Owner(owner) => key(b'o', &[&owner_key(owner)]),
        Scope::Tenant(admin) => tenant(admin),
        Scope::Everybody => vec![b'c'],
    }
}

/// The prefix of the rows of a tenant's tasks.
fn tenant(of: &Principal) -> Vec<u8> {
    key(b'n', &[&hash(&[of.tenant()])[..16]])
}

/// The row of one task among those with this prefix, which lie in the order of their creation.
pub(super) fn placed(mut prefix: Vec<u8>, at: Timestamp, id: TaskId) -> Vec<u8> {
    prefix.extend_from_slice(&moment(at));
    prefix.extend_from_slice(id.as_bytes());
    prefix
}

pub(super) fn expiry(end: Timestamp, id: TaskId) -> Vec<u8> {
    key(b'e', &[&moment(end), id.as_bytes()])
}

/// The prefix of a job's rows.
pub(super) fn job(provider: &ProviderName, job: &str) -> Vec<u8> {
    key(b'j', &[&hash(&[provider.as_str(), job])[..16]])
}

pub(super) fn caller_key(owner: &Principal, tool: &ToolName, caller: &CallerKey) -> Vec<u8> {
    key(b'k', &[&hash(&[owner.tenant(), owner.name(), tool.as_str(), &caller.key])])
}

pub(super) fn client_id(owner: &Principal, client_id: &str) -> Vec<u8> {
    key(b'i', &[&hash(&[owner.tenant(), owner.name(), client_id])])
}

/// The prefix of the tasks that a request made.
pub(super) fn request(owner: &Principal, request: &RequestName) -> Vec<u8> {
    let hash = match &request.session {
        Some(session) => hash(&[owner.tenant(), owner.name(), &request.id, session]),
        None => hash(&[owner.tenant(), owner.name(), &request.id]),
    };
    key(b'r', &[&hash[..16]])
}

pub(super) fn join(owner: &Principal, tool: &ToolName, join: &[u8; 32]) -> Vec<u8> {
    key(b'g', &[&hash(&[owner.tenant(), owner.name(), tool.as_str(), &hex(join)])])
}

/// The row of a tenant's task.
pub(super) fn tenant_row(task: &Task) -> Row {
    (placed(tenant(&task.owner), task.created_at, task.id), Vec::new())
}

/// The task whose record has this key; `None` for an entry of an audit trail.
pub(super) fn record_of(key: &[u8]) -> Option<TaskId> {
    key.strip_prefix(b"t")?.try_into().ok().map(TaskId::from_bytes)
}

/// The prefix of a task's audit trail.
pub(super) fn trail(id: TaskId) -> Vec<u8> {
    key(b't', &[id.as_bytes(), b"a"])
}

pub(super) fn audit(id: TaskId, revision: Revision, place: usize) -> Vec<u8> {
    // A commit has a handful of entries; should one ever have 65536, the last ones share a place.
    let place = u16::try_from(place).unwrap_or(u16::MAX);
    key(b't', &[id.as_bytes(), b"a", &revision.0.to_be_bytes(), &place.to_be_bytes()])
}

/// The prefix of those who need a body.
pub(super) fn needs(hash: &[u8; 32]) -> Vec<u8> {
    key(b'b', &[hash])
}

/// Whether anything needs a body.
pub(super) fn is_needed(db: &Db, hash: &[u8; 32]) -> Result<bool, StoreError> {
    Ok(db.rows(&needs(hash)).next().transpose()?.is_some())
}

pub(super) fn seed(name: &str) -> Vec<u8> {
    key(b's', &[name.as_bytes()])
}

/// The task that ends a key, or that is a value.
pub(super) fn task_in(bytes: &[u8]) -> Option<TaskId> {
    bytes.last_chunk().copied().map(TaskId::from_bytes)
}

/// Stands for an owner.
pub(super) fn owner_key(owner: &Principal) -> OwnerKey {
    let hash = hash(&[owner.tenant(), owner.name()]);
    *hash.first_chunk().expect("a hash of 32 bytes begins with 16")
}

/// All rows of a task but its record and its audit trail.
pub(super) fn index_rows(task: &Task, bodies: &[BodyRef]) -> Vec<Row> {
    let (id, at) = (task.id, task.created_at);
    let owned = within(&Scope::from(&task.owner));
    let everybodys = within(&Scope::Everybody);
    let mut rows = vec![(placed(everybodys, at, id), Vec::new()), (placed(owned, at, id), Vec::new()), tenant_row(task)];
    if let Some(watch) = Watch::of(task) {
        rows.push((self::watch(id), watch.to_bytes()));
    }
    if let Some(end) = task.expires_at() {
        rows.push((expiry(end, id), Vec::new()));
    }
    if let Some(job) = task.job() {
        rows.push((placed(self::job(&task.provider, job.id()), at, id), Vec::new()));
    }
    if let Some(caller) = &task.caller_key {
        rows.push((caller_key(&task.owner, &task.tool, caller), id.as_bytes().to_vec()));
    }
    if let Some(named) = &task.names.client_id {
        rows.push((client_id(&task.owner, named), id.as_bytes().to_vec()));
    }
    if let Some(named) = &task.names.request {
        rows.push((placed(request(&task.owner, named), at, id), Vec::new()));
    }
    if let Some(hash) = task.names.join.filter(|_| task.is_joinable()) {
        rows.push((join(&task.owner, &task.tool, &hash), id.as_bytes().to_vec()));
    }
    for body in bodies {
        let mut key = needs(&body.hash);
        key.extend_from_slice(id.as_bytes());
        rows.push((key, Vec::new()));
    }
    rows
}

/// What is read at start, so that no record has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watch {
    /// The status of a task that has not ended.
    pub(super) live: Option<Status>,
    /// When a worker has to look at it.
    pub(super) due: Option<Timestamp>,
    /// Whose it is.
    pub(super) owner: OwnerKey,
    /// Who runs it.
    pub(super) provider: ProviderName,
}

impl Watch {
    /// `None` for a task that has ended and has nothing left to do.
    pub(super) fn of(task: &Task) -> Option<Self> {
        let live = (!task.is_ended()).then(|| task.status());
        (live.is_some() || task.due_at.is_some()).then(|| Self {
            live,
            due: task.due_at,
            owner: owner_key(&task.owner),
            provider: task.provider.clone(),
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let live = match self.live {
            None | Some(Status::Completed | Status::Failed | Status::Cancelled) => 0,
            Some(Status::Working) => 1,
            Some(Status::InputRequired) => 2,
        };
        let due = self.due.map_or([0; 8], moment);
        [&[live, u8::from(self.due.is_some())][..], &due, &self.owner, self.provider.as_str().as_bytes()].concat()
    }

    /// The row's value, read back; `None` when it is no such value.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&[live, has_due], rest) = bytes.split_first_chunk()?;
        let (due, rest) = rest.split_first_chunk()?;
        let (owner, provider) = rest.split_first_chunk()?;
        let live = match live {
            0 => None,
            1 => Some(Status::Working),
            2 => Some(Status::InputRequired),
            _ => return None,
        };
        let due = (has_due == 1).then(|| from_moment(*due));
        Some(Self { live, due, owner: *owner, provider: ProviderName::new(std::str::from_utf8(provider).ok()?) })
    }
}

/// The moment at the start of a key of ends.
pub(super) fn end_in(key: &[u8]) -> Option<Timestamp> {
    key.get(1..)?.first_chunk().copied().map(from_moment)
}

/// Bytes that lie in the order of the moments, those before 1970 first.
fn moment(at: Timestamp) -> [u8; 8] {
    (at.as_millis().cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

fn from_moment(bytes: [u8; 8]) -> Timestamp {
    Timestamp::from_millis((u64::from_be_bytes(bytes) ^ (1 << 63)).cast_signed())
}

fn key(letter: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
    key.push(letter);
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// A hash of several texts; the lengths keep `ab`, `c` from being `a`, `bc`.
fn hash(texts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lie_in_the_order_of_moments() {
        let id = TaskId::from_bytes([0; 16]);
        let keys: Vec<_> = [i64::MIN, -1, 0, 1, i64::MAX].map(|ms| expiry(Timestamp::from_millis(ms), id)).into();
        assert!(keys.is_sorted());
        assert_eq!(end_in(&keys[1]), Some(Timestamp::from_millis(-1)));
    }

    #[test]
    fn names_that_run_into_each_other_have_keys_of_their_own() {
        assert_ne!(owner_key(&Principal::new("ab", "c")), owner_key(&Principal::new("a", "bc")));
    }

    #[test]
    fn a_watch_row_is_read_as_it_was_written() {
        for (live, due) in [(Some(Status::Working), Some(Timestamp::from_millis(5))), (Some(Status::InputRequired), None)] {
            let watch = Watch { live, due, owner: [7; 16], provider: ProviderName::new("ci") };
            assert_eq!(Watch::from_bytes(&watch.to_bytes()), Some(watch));
        }
        assert_eq!(Watch::from_bytes(&[9; 40]), None);
        assert_eq!(Watch::from_bytes(&[]), None);
    }
}
