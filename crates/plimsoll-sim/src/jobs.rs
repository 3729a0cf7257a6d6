//! The requests in the system, kept in reused slots.

use plimsoll_core::Outcome;

pub(crate) type Slot = u32;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) intended: u64,
    pub(crate) level: u32,
    pub(crate) passes_left: u32,
    /// Belongs to a closed-loop user.
    pub(crate) closed: bool,
    /// The client still waits; a job whose client left is worked on all the same.
    pub(crate) awaited: bool,
    /// Unique, so that a timer of an earlier user of the slot is recognised.
    pub(crate) number: u64,
    pub(crate) outcome: Outcome,
}

#[derive(Debug, Default)]
pub(crate) struct Jobs {
    slots: Vec<Job>,
    free: Vec<Slot>,
    number: u64,
}

impl Jobs {
    pub(crate) fn add(&mut self, intended: u64, level: u32, passes: u32, closed: bool) -> Slot {
        self.number += 1;
        let job = Job {
            intended,
            level,
            passes_left: passes,
            closed,
            awaited: true,
            number: self.number,
            outcome: Outcome::Ok,
        };
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = job;
            return slot;
        }
        self.slots.push(job);
        (self.slots.len() - 1) as Slot
    }

    pub(crate) fn at(&self, slot: Slot) -> &Job {
        &self.slots[slot as usize]
    }

    pub(crate) fn at_mut(&mut self, slot: Slot) -> &mut Job {
        &mut self.slots[slot as usize]
    }

    pub(crate) fn free(&mut self, slot: Slot) {
        self.free.push(slot);
    }
}
