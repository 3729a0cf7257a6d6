//! Who waits for a permit: by class, within it by tenant and route, and for how long.

pub(super) mod size;

use std::collections::{BTreeMap, VecDeque};

use plimsoll_core::Nanos;

use super::class::Class;
use super::fairness::{Fairness, Owner};

/// A request that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) ticket: u64,
    pub(super) class: Class,
    pub(super) owner: Owner,
    pub(super) arrived: Nanos,
    /// Not worth beginning after this.
    pub(super) latest: Nanos,
}

#[derive(Debug)]
pub(super) struct Queue {
    classes: [Lines; Class::ALL.len()],
    waits: Waits,
    len: usize,
    /// Nobody that waits is not worth beginning before this.
    soonest: Nanos,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            classes: Default::default(),
            waits: Waits::default(),
            len: 0,
            soonest: Nanos::MAX,
        }
    }
}

/// How many of each tenant's requests wait.
#[derive(Debug, Default)]
struct Waits {
    /// As long as the highest place that was needed.
    of_tenant: Vec<u32>,
    /// Of whom any wait.
    tenants: u32,
}

impl Waits {
    fn add(&mut self, owner: Owner) {
        let place = owner.tenant_place();
        if self.of_tenant.len() <= place {
            self.of_tenant.resize(place + 1, 0);
        }
        self.of_tenant[place] += 1;
        self.tenants += u32::from(self.of_tenant[place] == 1);
    }

    fn remove(&mut self, owner: Owner) {
        let waiting = &mut self.of_tenant[owner.tenant_place()];
        *waiting -= 1;
        self.tenants -= u32::from(*waiting == 0);
    }

    /// In multiples of what each of them has among so many on the average.
    fn of_fair(&self, owner: Owner, all: usize) -> f64 {
        let waiting = self.of_tenant.get(owner.tenant_place()).copied();
        f64::from(waiting.unwrap_or(0)) * f64::from(self.tenants) / all.max(1) as f64
    }
}

/// Those of one class, a line per tenant and route, each the oldest first.
#[derive(Debug, Default)]
struct Lines {
    lines: BTreeMap<Owner, VecDeque<Waiting>>,
    len: usize,
}

impl Lines {
    /// The line that comes first by `before`: its owner's rank, then the age of its oldest. Of those that `may`.
    fn line(
        &self,
        may: impl Fn(Owner) -> bool,
        rank: impl Fn(Owner) -> f64,
        before: impl Fn((f64, Nanos), (f64, Nanos)) -> bool,
    ) -> Option<Owner> {
        let mut best: Option<(Owner, (f64, Nanos))> = None;
        for (owner, line) in self.lines.iter().filter(|(owner, _)| may(**owner)) {
            let Some(oldest) = line.front() else { continue };
            let key = (rank(*owner), oldest.arrived);
            if best.is_none_or(|(_, than)| before(key, than)) {
                best = Some((*owner, key));
            }
        }
        best.map(|(owner, _)| owner)
    }

    fn take(&mut self, owner: Owner, newest: bool) -> Option<Waiting> {
        let line = self.lines.get_mut(&owner)?;
        let taken = if newest {
            line.pop_back()
        } else {
            line.pop_front()
        };
        if line.is_empty() {
            self.lines.remove(&owner);
        }
        self.len -= usize::from(taken.is_some());
        taken
    }
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn has(&self, class: Class) -> bool {
        self.classes[class as usize].len > 0
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        let lines = &mut self.classes[waiting.class as usize];
        let line = lines.lines.entry(waiting.owner).or_default();
        line.push_back(waiting);
        lines.len += 1;
        self.len += 1;
        self.soonest = self.soonest.min(waiting.latest);
        self.waits.add(waiting.owner);
    }

    /// Whether any of those that `may` waits.
    pub(super) fn has_any(&self, class: Class, may: impl Fn(Owner) -> bool) -> bool {
        let mut owners = self.classes[class as usize].lines.keys();
        owners.any(|owner| may(*owner))
    }

    /// The next of a class: of the one that has had least, of those that `may`.
    pub(super) fn next(
        &mut self,
        class: Class,
        fairness: &Fairness,
        newest: bool,
        may: impl Fn(Owner) -> bool,
    ) -> Option<Waiting> {
        let lines = &mut self.classes[class as usize];
        let least = |one: (f64, Nanos), than: (f64, Nanos)| one < than;
        let taken = lines.take(
            lines.line(may, |owner| fairness.rank(owner), least)?,
            newest,
        );
        self.taken(taken)
    }

    fn taken(&mut self, taken: Option<Waiting>) -> Option<Waiting> {
        let taken = taken?;
        self.len -= 1;
        self.waits.remove(taken.owner);
        Some(taken)
    }

    /// The one that goes when too many wait, if there is one: of the least important class that has more than it is owed, and of the one
    /// that has had most and waits for most, the one that would be served last. What waits counts, because at first nobody has had
    /// anything. Of the most important, so many `urgent` ones are never too many.
    pub(super) fn push_out(
        &mut self,
        slots: usize,
        urgent: usize,
        fairness: &Fairness,
        newest_first: bool,
    ) -> Option<Waiting> {
        let class = Class::ALL
            .into_iter()
            .rev()
            .find(|class| self.classes[*class as usize].len > self.owed(*class, slots, urgent))?;
        let lines = &mut self.classes[class as usize];
        let (waits, all) = (&self.waits, self.len);
        let rank = |owner| fairness.rank(owner) + waits.of_fair(owner, all);
        let most = |one: (f64, Nanos), than: (f64, Nanos)| {
            one.0 > than.0 || (one.0.to_bits() == than.0.to_bits() && one.1 < than.1)
        };
        let taken = lines.take(lines.line(|_| true, rank, most)?, !newest_first);
        self.taken(taken)
    }

    /// How many of so many places a class may keep: its floor, and the most important what the others leave, one and the urgent
    /// at least. Where places are few, that is a few more than there are.
    fn owed(&self, class: Class, slots: usize, urgent: usize) -> usize {
        let floor = |class: Class| (class.floor_ratio() * slots as f64).ceil() as usize;
        if class != Class::Critical {
            return floor(class);
        }
        let others = Class::ALL.into_iter().filter(|other| self.has(*other));
        let owed: usize = others.map(floor).sum();
        let least = if slots == 0 { 0 } else { urgent.max(1) };
        slots.saturating_sub(owed).max(least)
    }

    /// One that has waited too long, or whose client will not wait for the answer.
    pub(super) fn expired(&mut self, now: Nanos, patience: Nanos) -> Option<Waiting> {
        if now >= self.soonest
            && let Some(hopeless) = self.hopeless(now)
        {
            self.remove(&hopeless);
            return Some(hopeless);
        }
        let is_over = |w: &Waiting| now - w.arrived >= patience;
        for lines in &mut self.classes {
            let found = lines.lines.iter().find_map(|(owner, line)| {
                let oldest = line.front()?;
                is_over(oldest).then_some(*owner)
            });
            if let Some(taken) = found.and_then(|owner| lines.take(owner, false)) {
                return self.taken(Some(taken));
            }
        }
        None
    }

    /// One whose client will not wait for the answer, wherever it stands; who is the next of them, if there is none now.
    fn hopeless(&mut self, now: Nanos) -> Option<Waiting> {
        let lines = self.classes.iter().flat_map(|lines| lines.lines.values());
        let soonest = lines.flatten().min_by_key(|waiting| waiting.latest);
        self.soonest = soonest.map_or(Nanos::MAX, |waiting| waiting.latest);
        soonest.copied().filter(|waiting| now >= waiting.latest)
    }

    /// Its client has left.
    pub(super) fn remove(&mut self, waiting: &Waiting) -> bool {
        let lines = &mut self.classes[waiting.class as usize];
        let Some(line) = lines.lines.get_mut(&waiting.owner) else {
            return false;
        };
        let Some(at) = line.iter().position(|w| w.ticket == waiting.ticket) else {
            return false;
        };
        line.remove(at);
        if line.is_empty() {
            lines.lines.remove(&waiting.owner);
        }
        lines.len -= 1;
        self.len -= 1;
        self.waits.remove(waiting.owner);
        true
    }
}
