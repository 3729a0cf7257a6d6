//! Values in reused slots, so that a long simulation allocates nothing.

pub(crate) type Slot = u32;

#[derive(Debug)]
pub(crate) struct Arena<T> {
    slots: Vec<T>,
    free: Vec<Slot>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Arena<T> {
    pub(crate) fn add(&mut self, value: T) -> Slot {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = value;
            return slot;
        }
        self.slots.push(value);
        (self.slots.len() - 1) as Slot
    }

    pub(crate) fn at(&self, slot: Slot) -> &T {
        &self.slots[slot as usize]
    }

    pub(crate) fn at_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.slots[slot as usize]
    }

    /// Gives the slot back. What is in it stays readable until the slot is used again.
    pub(crate) fn free(&mut self, slot: Slot) -> T {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}
