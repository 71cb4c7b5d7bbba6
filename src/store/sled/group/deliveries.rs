//! Deliveries in a group: of several copies one is the first, and nothing is parked for a job that is there.

use std::collections::{BTreeMap, BTreeSet};

use super::{Current, Group, PreparedCommit};
use crate::domain::{TaskId, TaskState, Timestamp};
use crate::store::record::{self, BodyRef, Slip, SlipHead};
use crate::store::sled::body::Pin;
use crate::store::sled::db::corrupt;
use crate::store::sled::keys::{self, ProviderKey};
use crate::store::{Addressee, DeliveryId, Intake, MOST_DEAD, MOST_PARKED, Parked, ParkedKey, StoreError, Taken};

/// How many deliveries are kept: those parked of each provider, and dead letters. In a group, how many more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::store::sled) struct Counts {
    parked: BTreeMap<ProviderKey, i64>,
    dead: i64,
}

impl Counts {
    /// One more, or one less, of what the row `slip` is.
    pub(in crate::store::sled) fn add(&mut self, slip: &[u8], more: i64) {
        match keys::provider_in(slip) {
            Some(provider) => *self.parked.entry(provider).or_default() += more,
            None => self.dead += more,
        }
    }

    /// What a group that is on disk has changed.
    pub(in crate::store::sled) fn include(&mut self, group: Self) {
        for (provider, more) in group.parked {
            *self.parked.entry(provider).or_default() += more;
        }
        self.dead += group.dead;
    }

    fn parked(&self, provider: &ProviderKey) -> i64 {
        self.parked.get(provider).copied().unwrap_or_default()
    }
}

/// A delivery ready to be taken: all its bodies are on the disk.
#[derive(Debug)]
pub(in crate::store::sled) struct PreparedIntake {
    id: DeliveryId,
    body_hash: [u8; 32],
    keep_until: Timestamp,
    redriven: bool,
    commits: Vec<PreparedCommit>,
    parked: Vec<PreparedParked>,
    dead: Option<PreparedSlip>,
    /// Keeps the bodies until the group is written.
    pub(in crate::store::sled) pins: Vec<Pin>,
}

#[derive(Debug)]
struct PreparedParked {
    slip: PreparedSlip,
    waits_for: WaitsFor,
}

#[derive(Debug)]
enum WaitsFor {
    /// The job whose rows begin so.
    Job(Vec<u8>),
    /// The task's job.
    Task(TaskId),
}

/// A parked delivery or dead letter: its key, its row, and what places its other rows.
#[derive(Debug)]
struct PreparedSlip {
    key: Vec<u8>,
    row: Vec<u8>,
    head: SlipHead,
}

impl PreparedSlip {
    fn of(key: Vec<u8>, slip: Slip, bodies: &mut Vec<(BodyRef, Vec<u8>)>) -> Self {
        let Slip { row, head, body } = slip;
        bodies.extend(head.body.zip(body));
        Self { key, row, head }
    }
}

impl PreparedParked {
    fn of(parked: &Parked, bodies: &mut Vec<(BodyRef, Vec<u8>)>) -> Self {
        let waits_for = match &parked.addressee {
            Addressee::Job(job) => WaitsFor::Job(keys::job(&parked.provider, job)),
            Addressee::Task(id) => WaitsFor::Task(*id),
        };
        Self { slip: PreparedSlip::of(keys::parked(&parked.key()), record::encode_parked(parked), bodies), waits_for }
    }
}

impl PreparedIntake {
    /// The stored form of `intake`, its bodies not yet written.
    pub(in crate::store::sled) fn of(intake: Intake) -> (Self, Vec<(BodyRef, Vec<u8>)>) {
        let Intake { id, body_hash, at: _, keep_until, redriven, commits, parked, dead } = intake;
        let mut bodies = Vec::new();
        // Should two have one name, the later one stays.
        let parked: BTreeMap<_, _> = parked.iter().map(|parked| (parked.key(), parked)).collect();
        let mut prepared = Self {
            id,
            body_hash,
            keep_until,
            redriven,
            commits: Vec::with_capacity(commits.len()),
            parked: parked.into_values().map(|parked| PreparedParked::of(parked, &mut bodies)).collect(),
            dead: dead.map(|letter| PreparedSlip::of(keys::dead(letter.id), record::encode_dead(&letter), &mut bodies)),
            pins: Vec::new(),
        };
        for commit in commits {
            let (commit, more) = PreparedCommit::of(commit);
            bodies.extend(more);
            prepared.commits.push(commit);
        }
        (prepared, bodies)
    }

    fn slips(&self) -> impl Iterator<Item = &PreparedSlip> {
        self.parked.iter().map(|parked| &parked.slip).chain(&self.dead)
    }
}

/// What a change takes away: keys of parked deliveries and dead letters, the length of their rows, what places their other rows.
pub(super) type Leaving = BTreeMap<Vec<u8>, (usize, SlipHead)>;

/// What is known of a delivery that may be taken.
struct Admitted {
    /// The tasks that it changes, as they are now.
    currents: Vec<Current>,
    leaving: Leaving,
    /// Until when it has been remembered so far.
    before: Option<Timestamp>,
}

impl Group<'_> {
    /// S23, S24: a delivery with all that it does, or why not. Nothing is written before everything is decided.
    pub(in crate::store::sled) fn take(&mut self, intake: PreparedIntake) -> Result<Taken, StoreError> {
        let refused = match self.admit(&intake) {
            Ok(Ok(admitted)) => return Ok(self.record(intake, admitted)),
            Ok(Err(refused)) => Ok(refused),
            Err(error) => Err(error),
        };
        let bodies = intake.commits.iter().flat_map(|commit| commit.next.bodies.iter().copied());
        self.dropped.extend(bodies.chain(intake.slips().filter_map(|slip| slip.head.body)));
        refused
    }

    fn admit(&mut self, intake: &PreparedIntake) -> Result<Result<Admitted, Taken>, StoreError> {
        let letter = keys::dead(intake.id);
        let before = self.taken(intake.id)?;
        if intake.redriven {
            if self.read(&letter)?.is_none() {
                return Ok(Err(Taken::Repeat { conflict: false }));
            }
        } else if let Some((_, hash)) = before {
            return Ok(Err(Taken::Repeat { conflict: hash != intake.body_hash }));
        }
        let mut currents = Vec::with_capacity(intake.commits.len());
        let mut changed = BTreeSet::new();
        for commit in &intake.commits {
            let current = self.expected(commit)?;
            if !changed.insert(current.task.id) {
                return Err(StoreError::Stale(current.task.id));
            }
            currents.push(current);
        }
        for parked in &intake.parked {
            if self.is_bound(&parked.waits_for)? {
                return Ok(Err(Taken::Bound));
            }
        }
        let mut leaving = Leaving::new();
        if intake.redriven {
            self.leave(&letter, &mut leaving)?;
        }
        for slip in intake.slips() {
            // There only if it was kept for longer than its delivery was remembered.
            self.leave(&slip.key, &mut leaving)?;
        }
        for key in intake.commits.iter().flat_map(|commit| &commit.unpark) {
            self.leave(key, &mut leaving)?;
        }
        self.make_room(intake, &mut leaving)?;
        Ok(Ok(Admitted { currents, leaving, before: before.map(|(until, _)| until) }))
    }

    fn record(&mut self, intake: PreparedIntake, admitted: Admitted) -> Taken {
        let PreparedIntake { id, body_hash, keep_until, redriven: _, commits, parked, dead, pins } = intake;
        let mut tasks = Vec::with_capacity(commits.len());
        for (commit, current) in commits.into_iter().zip(admitted.currents) {
            tasks.push(commit.next.cached.task.clone());
            self.put(Some(current), commit.next, None, &commit.audit);
        }
        self.take_away(admitted.leaving);
        let until = admitted.before.map_or(keep_until, |before| before.max(keep_until));
        let value = keys::taken_value(until, &body_hash);
        let replaced = admitted.before.map(|_| value.len());
        if let Some(before) = admitted.before {
            self.remove(keys::memory_end(before, id), 0);
        }
        self.write((keys::taken(id), value), replaced);
        self.write((keys::memory_end(until, id), Vec::new()), None);
        for PreparedSlip { key, row, head } in parked.into_iter().map(|parked| parked.slip).chain(dead) {
            for row in keys::slip_rows(&key, &head) {
                self.write(row, None);
            }
            self.counts.add(&key, 1);
            self.write((key, row), None);
        }
        self.pins.extend(pins);
        self.taken.insert(id);
        Taken::First(tasks)
    }

    /// Until when a delivery is remembered, and its body's hash.
    fn taken(&self, id: DeliveryId) -> Result<Option<(Timestamp, [u8; 32])>, StoreError> {
        let Some(value) = self.read(&keys::taken(id))? else { return Ok(None) };
        keys::taken_in(&value).map(Some).ok_or_else(|| corrupt(&format!("what is known of {id:?} cannot be read")))
    }

    fn is_bound(&mut self, waits_for: &WaitsFor) -> Result<bool, StoreError> {
        match waits_for {
            WaitsFor::Job(rows) => Ok(!self.keys_now(rows, 1, |_| false)?.is_empty()),
            WaitsFor::Task(id) => {
                let current = self.current(*id)?;
                Ok(!current.is_some_and(|current| matches!(current.task.state, TaskState::Submitting { .. })))
            }
        }
    }

    /// Notes that a parked delivery or dead letter goes, if it is there.
    pub(super) fn leave(&self, key: &[u8], leaving: &mut Leaving) -> Result<(), StoreError> {
        if let Some(row) = self.read(key)? {
            let head = record::decode_head(&row).map_err(|error| corrupt(&format!("a delivery that was kept: {error}")))?;
            leaving.insert(key.to_vec(), (row.len(), head));
        }
        Ok(())
    }

    /// Removes what was noted.
    pub(super) fn take_away(&mut self, leaving: Leaving) {
        for (key, (len, head)) in leaving {
            for (row, value) in keys::slip_rows(&key, &head) {
                self.remove(row, value.len());
            }
            self.counts.add(&key, -1);
            self.dropped.extend(head.body);
            self.remove(key, len);
        }
    }

    /// Notes that the oldest go where there would be too many.
    fn make_room(&self, intake: &PreparedIntake, leaving: &mut Leaving) -> Result<(), StoreError> {
        if intake.slips().next().is_none() {
            return Ok(());
        }
        let mut more = self.held.clone();
        more.include(self.counts.clone());
        for key in leaving.keys() {
            more.add(key, -1);
        }
        for slip in intake.slips() {
            more.add(&slip.key, 1);
        }
        let providers: BTreeSet<_> = intake.parked.iter().filter_map(|parked| keys::provider_in(&parked.slip.key)).collect();
        for provider in providers {
            let over = more.parked(&provider) - MOST_PARKED as i64;
            self.leave_oldest(&keys::parked_in_order(&provider), over, leaving)?;
        }
        if intake.dead.is_some() {
            self.leave_oldest(keys::DEAD_IN_ORDER, more.dead - MOST_DEAD as i64, leaving)?;
        }
        Ok(())
    }

    fn leave_oldest(&self, order: &[u8], over: i64, leaving: &mut Leaving) -> Result<(), StoreError> {
        let Ok(over @ 1..) = usize::try_from(over) else { return Ok(()) };
        let going = |row: &[u8]| keys::slip_of(row).is_some_and(|key| leaving.contains_key(&key));
        let oldest = self.keys_now(order, over, going)?;
        // Not louder: whoever makes deliveries go decides how often this is said.
        tracing::debug!(count = oldest.len(), "more deliveries are kept than there is room for: the oldest go");
        for row in oldest {
            let key = keys::slip_of(&row).ok_or_else(|| corrupt("an order of deliveries names none"))?;
            self.leave(&key, leaving)?;
        }
        Ok(())
    }

    /// Removes dead letters; gives how many there were.
    pub(in crate::store::sled) fn drop_dead(&mut self, ids: &[DeliveryId]) -> Result<usize, StoreError> {
        let mut leaving = Leaving::new();
        for id in ids {
            self.leave(&keys::dead(*id), &mut leaving)?;
        }
        let count = leaving.len();
        self.take_away(leaving);
        Ok(count)
    }

    /// S26: removes what is still over at `now` of what a look has found. Gives those of the parked ones that are gone now and whose
    /// names could be read.
    pub(in crate::store::sled) fn forget(&mut self, now: Timestamp, over: Over) -> Result<Vec<ParkedKey>, StoreError> {
        let (mut leaving, mut names, mut taken, mut ends) = (Leaving::new(), Vec::new(), Vec::new(), Vec::new());
        for (end, name) in over.parked {
            let mut one = Leaving::new();
            self.leave(&keys::slip_of(&end).unwrap_or_default(), &mut one)?;
            one.retain(|_, (_, head)| head.until.is_none_or(|until| until <= now));
            if !one.is_empty() {
                names.extend(name);
                leaving.append(&mut one);
            }
            ends.push((self.read(&end)?.is_some(), end));
        }
        for end in over.taken {
            if let Some(id) = keys::delivery_in(&end)
                && let Some((until, hash)) = self.taken(id)?.filter(|(until, _)| *until <= now)
            {
                taken.push((id, keys::taken_value(until, &hash).len()));
            }
            ends.push((self.read(&end)?.is_some(), end));
        }
        self.take_away(leaving);
        for (id, len) in taken {
            self.remove(keys::taken(id), len);
        }
        // Each of them, also one that leads nowhere: the next look must find others.
        for (is_there, end) in ends {
            if is_there && self.rows.get(&end).is_none_or(Option::is_some) {
                self.remove(end, 0);
            }
        }
        Ok(names)
    }

    /// The first `most` keys with this prefix as this group leaves them so far, but for those to be left out.
    fn keys_now(&self, prefix: &[u8], most: usize, left_out: impl Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut found = BTreeSet::new();
        for row in self.db.rows(prefix) {
            if found.len() == most {
                break;
            }
            let key = row?.0;
            if !left_out(&key) && self.rows.get(key.as_ref()).is_none_or(Option::is_some) {
                found.insert(key.to_vec());
            }
        }
        let added = self.rows.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
        found.extend(added.filter(|(key, value)| value.is_some() && !left_out(key)).take(most).map(|(key, _)| key.clone()));
        Ok(found.into_iter().take(most).collect())
    }
}

/// What a look has found to be over.
#[derive(Debug, Default)]
pub(in crate::store::sled) struct Over {
    /// Rows that end the memory of a delivery.
    pub(in crate::store::sled) taken: Vec<Vec<u8>>,
    /// Rows that end the waiting of a parked one, with its name where that can be read.
    pub(in crate::store::sled) parked: Vec<(Vec<u8>, Option<ParkedKey>)>,
}
