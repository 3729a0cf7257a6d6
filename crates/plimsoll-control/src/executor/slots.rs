//! The VUs of one scenario on one worker: who is idle, who runs, who has to go.

use std::collections::VecDeque;

use plimsoll_core::Nanos;

use super::share::Owned;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    /// Not made yet, or taken away by a ramp.
    Absent,
    Coming,
    Idle,
    Running,
    Interrupted,
}

#[derive(Debug, Clone)]
struct Slot {
    state: SlotState,
    /// The ramp wants it.
    active: bool,
    /// It stands in the queue of idle ones.
    queued: bool,
    begun: u64,
    free_since: Nanos,
    /// When its iteration is interrupted, while it is on its way out.
    deadline: Option<Nanos>,
    /// When the ramp took it away without any grace.
    cut_at: Option<Nanos>,
}

/// The VUs; `index` is a VU's place in the whole scenario, which only some workers own.
#[derive(Debug)]
pub(super) struct Slots {
    owned: Owned,
    list: Vec<Slot>,
    /// Idle ones, the longest idle first; may hold some that were retired since.
    idle: VecDeque<u32>,
    /// Deadlines in the order of time; may hold some that were lifted since.
    deadlines: VecDeque<(Nanos, u32)>,
    active: u32,
    running: u32,
    /// Active ones that are idle.
    ready: u32,
    /// Most iterations that one begins; then it leaves.
    each: u64,
    is_one_coming: bool,
    /// Everything before it was interrupted at the last end.
    interrupt_from: usize,
}

impl Slots {
    /// Each VU leaves after `each` iterations.
    pub(super) fn new(owned: Owned, each: u64) -> Self {
        let absent = Slot {
            state: SlotState::Absent,
            active: false,
            queued: false,
            begun: 0,
            free_since: Nanos::ZERO,
            deadline: None,
            cut_at: None,
        };
        let len = owned.len() as usize;
        Self {
            owned,
            list: vec![absent; len],
            idle: VecDeque::with_capacity(len),
            deadlines: VecDeque::new(),
            active: 0,
            running: 0,
            ready: 0,
            each,
            is_one_coming: false,
            interrupt_from: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.list.len() as u32
    }

    pub(super) const fn running(&self) -> u32 {
        self.running
    }

    /// Those that would begin an iteration as soon as there is one.
    pub(super) const fn ready(&self) -> u32 {
        self.ready
    }

    pub(super) fn vus_below(&self, index: u32) -> impl Iterator<Item = u32> + '_ {
        (0..self.owned.below(index) as usize).map(|place| self.owned.vu(place))
    }

    pub(super) fn activate_below(&mut self, index: u32, at: Nanos) {
        for place in 0..self.owned.below(index) as usize {
            self.activate_place(place, at);
        }
    }

    /// The ramp wants the VU with that index.
    pub(super) fn activate(&mut self, index: u32, at: Nanos) {
        if let Some(place) = self.owned.place(index) {
            self.activate_place(place, at);
        }
    }

    fn activate_place(&mut self, place: usize, at: Nanos) {
        let slot = &mut self.list[place];
        // Observed in k6 2.2: stages without duration that go down and up again at one moment bring back
        // nobody whom the first cut off; a later step does.
        if slot.cut_at == Some(at) || std::mem::replace(&mut slot.active, true) {
            return;
        }
        self.active += 1;
        // On its way out and wanted again: it stays.
        slot.deadline = None;
        if matches!(slot.state, SlotState::Absent | SlotState::Idle) {
            slot.state = SlotState::Idle;
            slot.free_since = at;
            self.ready += 1;
            self.enqueue(place);
        }
    }

    fn enqueue(&mut self, place: usize) {
        if !std::mem::replace(&mut self.list[place].queued, true) {
            self.idle.push_back(place as u32);
        }
    }

    /// The ramp does not want the VU with that index any more.
    pub(super) fn retire(&mut self, index: u32, at: Nanos, grace: Nanos) {
        let Some(place) = self.owned.place(index) else {
            return;
        };
        let slot = &mut self.list[place];
        if !std::mem::replace(&mut slot.active, false) {
            return;
        }
        self.active -= 1;
        let deadline = at + grace;
        slot.cut_at = (deadline == at).then_some(at);
        match slot.state {
            SlotState::Idle => self.ready -= 1,
            SlotState::Running => {
                slot.deadline = Some(deadline);
                self.deadlines.push_back((deadline, place as u32));
            }
            _ => {}
        }
    }

    /// The longest idle VU, now running: its number, how many iterations it had begun, and since when it was free.
    pub(super) fn take_idle(&mut self) -> Option<(u32, u64, Nanos)> {
        while let Some(place) = self.idle.pop_front() {
            let slot = &mut self.list[place as usize];
            slot.queued = false;
            if !slot.active || slot.state != SlotState::Idle {
                continue;
            }
            let begun = slot.begun;
            slot.begun += 1;
            slot.state = SlotState::Running;
            self.ready -= 1;
            self.running += 1;
            return Some((self.owned.vu(place as usize), begun, slot.free_since));
        }
        None
    }

    /// Iterations that are not begun of those that each VU should make.
    pub(super) fn left(&self) -> u64 {
        self.list
            .iter()
            .map(|slot| self.each - slot.begun.min(self.each))
            .sum()
    }

    pub(super) fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// An iteration is over; whether it was completed.
    pub(super) fn end(&mut self, vu: u32, now: Nanos) -> bool {
        let Some(place) = self.owned.place_of_vu(vu) else {
            return false;
        };
        let Some(slot) = self.list.get_mut(place) else {
            return false;
        };
        let is_completed = slot.state == SlotState::Running;
        if !is_completed && slot.state != SlotState::Interrupted {
            return false;
        }
        slot.state = SlotState::Idle;
        slot.deadline = None;
        slot.free_since = now;
        self.running -= 1;
        if slot.begun >= self.each {
            self.active -= u32::from(std::mem::take(&mut slot.active));
        } else if slot.active {
            self.ready += 1;
            self.enqueue(place);
        }
        is_completed
    }

    /// One more VU to make, if there may be more and none is on its way.
    pub(super) fn ask_for_one(&mut self) -> Option<u32> {
        if self.is_one_coming || self.active >= self.len() {
            return None;
        }
        // VUs of arrival-rate scenarios never go, so the active ones are the first.
        let place = self.active as usize;
        self.list[place].state = SlotState::Coming;
        self.is_one_coming = true;
        Some(self.owned.vu(place))
    }

    pub(super) fn add(&mut self, vu: u32, now: Nanos) {
        let Some(place) = self.owned.place_of_vu(vu) else {
            return;
        };
        let slot = self.list.get_mut(place);
        if let Some(slot) = slot.filter(|slot| slot.state == SlotState::Coming) {
            slot.state = SlotState::Idle;
            self.is_one_coming = false;
            self.activate_place(place, now);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Nanos> {
        let mut live = self.deadlines.iter();
        let is_live = |(at, place): &&(Nanos, u32)| self.is_live(*at, *place);
        live.find(is_live).map(|(at, _)| *at)
    }

    fn is_live(&self, at: Nanos, place: u32) -> bool {
        let slot = &self.list[place as usize];
        slot.deadline == Some(at) && slot.state == SlotState::Running
    }

    /// A VU whose time to leave is over.
    pub(super) fn interrupt_overdue(&mut self, now: Nanos) -> Option<u32> {
        while let Some((at, place)) = self.deadlines.front().copied() {
            if self.is_live(at, place) {
                if at > now {
                    return None;
                }
                self.deadlines.pop_front();
                return Some(self.interrupt(place as usize));
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// Any VU that still runs, at the end of everything.
    pub(super) fn interrupt_any(&mut self) -> Option<u32> {
        let rest = self.list.iter().skip(self.interrupt_from);
        let found = rest
            .enumerate()
            .find(|(_, slot)| slot.state == SlotState::Running);
        let place = self.interrupt_from + found?.0;
        self.interrupt_from = place + 1;
        Some(self.interrupt(place))
    }

    fn interrupt(&mut self, place: usize) -> u32 {
        self.list[place].state = SlotState::Interrupted;
        self.owned.vu(place)
    }
}
