//! Who is next when several databases wait: the one that was served least, whatever the others queue.
//!
//! Start-time fair queueing (Goyal, Vin, Cheng 1996) with the measured execution time as the size of a job: a database that comes
//! with one job after an idle time waits for at most the job under way, not for another database's backlog. Among the clients of one
//! database the same holds for their fresh jobs, so that forty which ask for 16 MB each do not keep the one waiting that asks for a row.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::client::{Client, Served, UNKNOWN, usual};

/// Fresh jobs of a database get this much time, in nanoseconds, before a slice of a long one comes in between: with slices of
/// a millisecond, a ninth of the time is what a long query gets at least.
const REST_EVERY: u64 = 8_000_000;
/// What a client may be behind the others of its database, in nanoseconds of its share.
const DEBT_MAX: u64 = 50_000_000;
/// Costs that differ by less, in nanoseconds, are alike.
const ALIKE: u64 = 100_000;
/// Lanes that are kept although nothing waits in them: making one anew for every batch costs more than all else here.
const LANES_KEPT: usize = 256;

/// A job that a client sent, or nobody.
pub(crate) trait Sent {
    fn client(&self) -> Option<&Arc<Client>> {
        None
    }

    /// What remains of it goes on before what remains of others.
    fn keeps_turn(&self) -> bool {
        false
    }
}

/// A queue per database, each bounded.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    lanes: BTreeMap<Arc<str>, Lane<T>>,
    /// Lanes with waiting jobs by the time that they were served, and among equals by when they began to wait: by name,
    /// the last of twenty databases would get a tenth less than the first (measured).
    waiting: BTreeSet<(u64, u64, Arc<str>)>,
    /// Lanes that began to wait so far.
    begun: u64,
    /// Service time of the lane that was served last: who comes back from idleness begins here.
    floor: u64,
    /// Service time of the lane that was served most.
    most: u64,
    limit: usize,
    queued: usize,
}

#[derive(Debug)]
struct Lane<T> {
    /// Unlike that of any other lane.
    id: u64,
    /// Jobs that wait for the first time: by what their clients' shares will be used up to then, by what they will take (small
    /// differences are none), in order of arrival. Were it by what is used before, all who are as far would go before one who is
    /// a little further and asks for little.
    jobs: BTreeMap<(u64, u64, u64), Fresh<T>>,
    arrived: u64,
    /// What the share of the client was used up to that was served last: who comes back from idleness begins here.
    now: u64,
    /// What the share is used up to that strangers have together. With one each, a stream of clients that come for the first time would
    /// be served before one that was served once, again and again.
    strangers: u64,
    /// About what a command of a stranger takes.
    stranger_cost: u64,
    /// Who sent the fresh job that was popped last, with that share and what it was expected to take.
    on: Option<(Arc<Client>, u64, u64)>,
    /// What remains of long ones, after those.
    rests: VecDeque<T>,
    served: u64,
    /// Time that fresh jobs got since a rest did, while one waits.
    owed: u64,
    /// The job that was popped last was a rest.
    on_rest: bool,
}

/// A job that waits for the first time.
#[derive(Debug)]
struct Fresh<T> {
    /// What its client's share is used up to without it.
    share: u64,
    /// About what it takes.
    cost: u64,
    job: T,
}

impl<T: Sent> Lane<T> {
    fn new(served: u64) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self {
            id: MADE.fetch_add(1, Ordering::Relaxed) + 1,
            jobs: BTreeMap::new(),
            arrived: 0,
            now: 0,
            strangers: 0,
            stranger_cost: UNKNOWN,
            on: None,
            rests: VecDeque::new(),
            served,
            owed: 0,
            on_rest: false,
        }
    }

    fn len(&self) -> usize {
        self.jobs.len() + self.rests.len()
    }

    fn rest_is_next(&self) -> bool {
        self.jobs.is_empty() || (self.owed >= REST_EVERY && !self.rests.is_empty())
    }

    /// Fresh jobs go first, but for a share that keeps a long one moving.
    fn pop(&mut self) -> Option<T> {
        self.on_rest = self.rest_is_next();
        if self.on_rest {
            self.owed = 0;
            return self.rests.pop_front();
        }
        let (_, Fresh { share, cost, job }) = self.jobs.pop_first()?;
        self.now = self.now.max(share);
        let client = job.client();
        self.on = client.map(|client| (Arc::clone(client), share, cost));
        Some(job)
    }

    /// The fresh job that was popped last took `cost`.
    fn charge(&mut self, cost: u64) {
        let Some((client, share, expected)) = self.on.take() else {
            return;
        };
        if let Served::Never = client.served_in(self.id) {
            self.strangers = (self.strangers + cost).saturating_sub(expected);
            self.stranger_cost = usual(self.stranger_cost, cost).max(UNKNOWN);
        }
        client.serve(self.id, share, cost);
    }

    /// About what the next job takes, where that is known of who sent it.
    fn next_cost(&self) -> u64 {
        match self.jobs.first_key_value() {
            Some((_, fresh)) if !self.rest_is_next() => fresh.cost,
            _ => 0,
        }
    }

    fn push(&mut self, job: T) {
        let client = job.client();
        let most = self.now.saturating_add(DEBT_MAX);
        let (used, cost) = match client.map(|client| client.served_in(self.id)) {
            None => (0, 0),
            Some(Served::Upto { share, cost }) => (share, cost),
            Some(Served::Never) => {
                let used = self.strangers.clamp(self.now, most);
                self.strangers = used + self.stranger_cost;
                (used, self.stranger_cost)
            }
        };
        let share = used.clamp(self.now, most);
        self.arrived += 1;
        let place = ((share + cost) / ALIKE, cost / ALIKE, self.arrived);
        self.jobs.insert(place, Fresh { share, cost, job });
    }
}

impl<T: Sent> FairQueue<T> {
    /// `limit` jobs wait per database at most.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            lanes: BTreeMap::new(),
            waiting: BTreeSet::new(),
            begun: 0,
            floor: 0,
            most: 0,
            limit,
            queued: 0,
        }
    }

    /// Queues a job, or gives it back when its database has `limit` waiting.
    pub(crate) fn push(&mut self, database: &str, job: T) -> Result<(), T> {
        let floor = self.floor;
        let name = match self.lanes.get_key_value(database) {
            Some((name, _)) => Arc::clone(name),
            None => Arc::from(database),
        };
        let lane = self.lanes.entry(Arc::clone(&name));
        let lane = lane.or_insert_with(|| Lane::new(floor));
        if lane.len() >= self.limit {
            return Err(job);
        }
        if lane.len() == 0 {
            lane.served = lane.served.max(floor);
            self.begun += 1;
            self.waiting.insert((lane.served, self.begun, name));
        }
        lane.push(job);
        self.queued += 1;
        Ok(())
    }

    /// The next job and its database. It must be followed by [`Self::served`].
    pub(crate) fn pop(&mut self) -> Option<(Arc<str>, T)> {
        let (served, _, database) = self.waiting.pop_first()?;
        self.floor = self.floor.max(served);
        let job = self.lanes.get_mut(&database)?.pop()?;
        self.queued -= 1;
        Some((database, job))
    }

    /// About what the next job takes, in nanoseconds; zero where nothing is known.
    pub(crate) fn next_cost(&self) -> u64 {
        let next = self.waiting.first();
        next.and_then(|(_, _, database)| self.lanes.get(database))
            .map_or(0, Lane::next_cost)
    }

    /// The job that was popped last took `cost` nanoseconds; `rest` is what remains of it, and comes after what its
    /// database has that is fresh, and after other rests unless it keeps its turn.
    pub(crate) fn served(&mut self, database: &Arc<str>, cost: u64, rest: Option<T>) {
        let Some(lane) = self.lanes.get_mut(database) else {
            return;
        };
        lane.served += cost.max(1);
        lane.charge(cost);
        self.most = self.most.max(lane.served);
        if !lane.on_rest && !lane.rests.is_empty() {
            lane.owed += cost;
        }
        if let Some(rest) = rest {
            if rest.keeps_turn() {
                lane.rests.push_front(rest);
            } else {
                lane.rests.push_back(rest);
            }
            self.queued += 1;
        }
        if lane.len() > 0 {
            self.begun += 1;
            self.waiting
                .insert((lane.served, self.begun, Arc::clone(database)));
        }
    }

    /// Jobs that wait, over all databases.
    pub(crate) fn len(&self) -> usize {
        self.queued
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// Each database with waiting jobs, and how many.
    pub(crate) fn depths(&self) -> impl Iterator<Item = (&str, usize)> {
        self.lanes
            .iter()
            .map(|(name, lane)| (name.as_ref(), lane.len()))
    }

    /// Where nobody waits, nobody owes. Beyond a number, drops lanes without jobs that have no debt left, so that names
    /// of the past take no memory.
    pub(crate) fn tidy(&mut self) {
        if self.is_empty() {
            self.floor = self.most;
        }
        if self.lanes.len() > LANES_KEPT {
            let floor = self.floor;
            self.lanes
                .retain(|_, lane| lane.len() > 0 || lane.served > floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Sent for u32 {}

    impl Sent for (Arc<Client>, u32) {
        fn client(&self) -> Option<&Arc<Client>> {
            Some(&self.0)
        }
    }

    /// How many jobs go before each of fifty of one client that asks for `little` nanoseconds at a time, beside forty that ask for 8 ms;
    /// `anew`: those come as strangers each time.
    fn waits_beside_forty(little: u32, anew: bool) -> Vec<u32> {
        let mut queue = FairQueue::new(100);
        let few = Arc::new(Client::new(0, ""));
        let stranger = || Arc::new(Client::new(1, ""));
        let job = |client: &Arc<Client>, cost: u32| (Arc::clone(client), cost);
        let serve = |queue: &mut FairQueue<(Arc<Client>, u32)>| {
            let (name, (client, cost)) = queue.pop().unwrap();
            queue.served(&name, u64::from(cost), None);
            let is_few = Arc::ptr_eq(&client, &few);
            if !is_few {
                let next = if anew { stranger() } else { client };
                queue.push("a", job(&next, cost)).unwrap();
            }
            is_few
        };
        for _ in 0..40 {
            queue.push("a", job(&stranger(), 8_000_000)).unwrap();
        }
        let mut waits = Vec::new();
        for _ in 0..50 {
            queue.push("a", job(&few, little)).unwrap();
            let mut waited = 0;
            while !serve(&mut queue) {
                waited += 1;
            }
            waits.push(waited);
            // Time passes until it asks again.
            for _ in 0..7 {
                serve(&mut queue);
            }
        }
        waits
    }

    #[test]
    fn a_client_that_asks_for_little_does_not_wait_for_those_who_ask_for_much() {
        for (little, anew) in [
            (1000, false),
            (1000, true),
            (150_000, false),
            (150_000, true),
        ] {
            let waits = waits_beside_forty(little, anew);
            // Behind all of them as long as nobody is known; then at the next turn.
            let late = waits.iter().skip(3).max();
            assert!(late <= Some(&1), "{waits:?}, {little} ns, anew: {anew}");
        }
    }

    /// It asks again as soon as it is answered; a hundred others came at once, are let go and come again as strangers each time.
    #[test]
    fn who_asks_for_little_again_and_again_does_not_wait_for_strangers() {
        let mut queue = FairQueue::new(200);
        let few = Arc::new(Client::new(0, ""));
        let stranger = || (Arc::new(Client::new(1, "")), 0);
        for _ in 0..100 {
            queue.push("a", stranger()).unwrap();
        }
        let mut waits = Vec::new();
        for _ in 0..400 {
            queue.push("a", (Arc::clone(&few), 0)).unwrap();
            let mut waited = 0;
            loop {
                let (name, (client, _)) = queue.pop().unwrap();
                let is_few = Arc::ptr_eq(&client, &few);
                let cost = if is_few { 15_000 } else { 12_000_000 };
                queue.served(&name, cost, None);
                if is_few {
                    break;
                }
                queue.push("a", stranger()).unwrap();
                waited += 1;
            }
            waits.push(waited);
            // One of them is under way when it asks again.
            let (name, _) = queue.pop().unwrap();
            queue.served(&name, 12_000_000, None);
            queue.push("a", stranger()).unwrap();
        }
        let late = waits.iter().skip(3).max();
        assert!(late <= Some(&1), "{waits:?}");
    }

    #[test]
    fn those_who_ask_for_much_are_served_too() {
        let mut queue = FairQueue::new(100);
        let clients: Vec<_> = (0..5).map(|id| Arc::new(Client::new(id, ""))).collect();
        let cost = |id: u32| if id == 0 { 8_000_000 } else { 30_000 };
        for (client, id) in clients.iter().zip(0..) {
            queue.push("a", (Arc::clone(client), id)).unwrap();
        }
        let mut time = [0; 5];
        for _ in 0..20_000 {
            let (name, (client, id)) = queue.pop().unwrap();
            queue.served(&name, cost(id), None);
            time[id as usize] += cost(id);
            queue.push("a", (client, id)).unwrap();
        }
        let fair = time.iter().sum::<u64>() / 5;
        assert!(time.iter().all(|one| *one > fair / 2), "{time:?}");
    }

    /// Serves `turns` jobs of the given cost per database and counts them.
    fn serve(
        queue: &mut FairQueue<u32>,
        turns: usize,
        cost: impl Fn(&str) -> u64,
    ) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for _ in 0..turns {
            let Some((name, _)) = queue.pop() else { break };
            queue.served(&name, cost(&name), None);
            *counts.entry(name.to_string()).or_default() += 1;
        }
        counts
    }

    #[test]
    fn equal_costs_share_equally_whatever_is_queued() {
        let mut queue = FairQueue::new(1000);
        for job in 0..600 {
            queue.push("busy", job).unwrap();
        }
        for job in 0..60 {
            queue.push("quiet", job).unwrap();
        }
        let counts = serve(&mut queue, 100, |_| 10);
        assert_eq!((counts["busy"], counts["quiet"]), (50, 50));
    }

    #[test]
    fn service_time_is_shared_not_the_number_of_jobs() {
        let mut queue = FairQueue::new(1000);
        for job in 0..500 {
            queue.push("scans", job).unwrap();
            queue.push("points", job).unwrap();
        }
        let counts = serve(
            &mut queue,
            110,
            |name| if name == "scans" { 100 } else { 10 },
        );
        assert_eq!((counts["scans"], counts["points"]), (10, 100));
    }

    #[test]
    fn who_comes_back_is_next_but_gains_nothing_from_having_been_away() {
        let mut queue = FairQueue::new(1000);
        for job in 0..500 {
            queue.push("busy", job).unwrap();
        }
        serve(&mut queue, 100, |_| 10);
        queue.push("late", 0).unwrap();
        let (next, _) = queue.pop().unwrap();
        queue.served(&next, 10, None);
        let (then, _) = queue.pop().unwrap();
        assert!([next.as_ref(), then.as_ref()].contains(&"late"));
        for job in 0..100 {
            let _full = queue.push("late", job);
        }
        queue.served(&then, 10, None);
        let counts = serve(&mut queue, 40, |_| 10);
        assert!((19..=21).contains(&counts["late"]), "{counts:?}");
    }

    #[test]
    fn among_equals_the_first_to_come_is_the_first_to_be_served() {
        let mut queue = FairQueue::new(10);
        for name in ["m", "z", "a"] {
            queue.push(name, 0).unwrap();
        }
        let order = std::iter::from_fn(|| {
            let (name, _) = queue.pop()?;
            queue.served(&name, 10, None);
            Some(name.to_string())
        });
        assert_eq!(order.collect::<Vec<_>>(), ["m", "z", "a"]);
    }

    #[test]
    fn a_full_queue_gives_the_job_back() {
        let mut queue = FairQueue::new(2);
        assert_eq!(queue.push("a", 1), Ok(()));
        assert_eq!(queue.push("a", 2), Ok(()));
        assert_eq!(queue.push("a", 3), Err(3));
        let (name, job) = queue.pop().unwrap();
        queue.served(&name, 5, Some(job * 10));
        assert_eq!(queue.push("a", 3), Err(3), "a rest takes a place too");
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn the_rest_of_a_job_comes_after_what_is_fresh_in_its_own_database() {
        let mut queue = FairQueue::new(10);
        queue.push("a", 1).unwrap();
        let (name, job) = queue.pop().unwrap();
        queue.push("a", 2).unwrap();
        queue.push("a", 3).unwrap();
        queue.served(&name, 1_000_000, Some(job));
        queue.push("a", 4).unwrap();
        let order = std::iter::from_fn(|| {
            let (name, job) = queue.pop()?;
            queue.served(&name, 1000, None);
            Some(job)
        });
        assert_eq!(order.collect::<Vec<_>>(), [2, 3, 4, 1]);
    }

    #[test]
    fn a_long_job_keeps_moving_however_many_fresh_ones_come() {
        let mut queue = FairQueue::new(10);
        let (long, fresh) = (1, 2);
        queue.push("a", long).unwrap();
        let (name, job) = queue.pop().unwrap();
        queue.served(&name, 1_000_000, Some(job));
        let mut slices = 0;
        for _ in 0..900 {
            queue.push("a", fresh).unwrap();
            let (name, job) = queue.pop().unwrap();
            let rest = (job == long).then_some(long);
            slices += u32::from(job == long);
            queue.served(&name, if job == long { 1_000_000 } else { 100_000 }, rest);
            if job == long {
                let (name, _) = queue.pop().unwrap();
                queue.served(&name, 100_000, None);
            }
        }
        assert!(
            (9..=12).contains(&slices),
            "{slices} slices in 90 ms of fresh work"
        );
    }

    #[test]
    fn names_of_the_past_take_no_memory() {
        let mut queue = FairQueue::new(2);
        for name in 0..1000 {
            queue.push(&format!("db{name}"), 0).unwrap();
            serve(&mut queue, 1, |_| 10);
            queue.tidy();
        }
        assert!(queue.lanes.len() <= LANES_KEPT, "{}", queue.lanes.len());
    }
}
