//! Connections by token. A token is never given twice, so a late reply cannot reach the wrong client.

#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, value: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let (generation, slot) = &mut self.slots[index as usize];
        *slot = Some(value);
        u64::from(*generation) << 32 | u64::from(index)
    }

    pub(crate) fn get_mut(&mut self, token: u64) -> Option<&mut T> {
        let (generation, slot) = self.slots.get_mut(token as u32 as usize)?;
        if u64::from(*generation) == token >> 32 {
            slot.as_mut()
        } else {
            None
        }
    }

    pub(crate) fn remove(&mut self, token: u64) -> Option<T> {
        self.get_mut(token)?;
        let (generation, slot) = self.slots.get_mut(token as u32 as usize)?;
        *generation = generation.wrapping_add(1);
        self.free.push(token as u32);
        slot.take()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Every token in use.
    pub(crate) fn tokens(&self) -> Vec<u64> {
        let used = |(index, (generation, slot)): (usize, &(u32, Option<T>))| {
            slot.is_some()
                .then_some(u64::from(*generation) << 32 | index as u64)
        };
        self.slots.iter().enumerate().filter_map(used).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_the_past_reaches_nobody() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_ne!(first, second);
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(slab.get_mut(second), Some(&mut 'b'));
        assert_eq!((slab.len(), slab.tokens()), (1, vec![second]));
    }
}
