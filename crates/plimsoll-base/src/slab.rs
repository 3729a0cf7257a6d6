//! Things by token, as an event loop needs them. A token is never given twice, so what comes late reaches nobody else.

/// Places that are used again, each use with a token of its own.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<(u32, Option<T>)>,
    vacant: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slab<T> {
    pub fn new() -> Self {
        Self {
            places: Vec::new(),
            vacant: Vec::new(),
        }
    }

    /// The token that the next [`Self::insert`] gives: needed to register a socket first.
    pub fn next_token(&self) -> u64 {
        let index = self.vacant.last().copied();
        let index = index.unwrap_or(self.places.len() as u32);
        let generation = self.places.get(index as usize).map_or(0, |place| place.0);
        token(index, generation)
    }

    pub fn insert(&mut self, value: T) -> u64 {
        let token = self.next_token();
        match self.vacant.pop() {
            Some(index) => self.places[index as usize].1 = Some(value),
            None => self.places.push((0, Some(value))),
        }
        token
    }

    #[inline]
    pub fn get_mut(&mut self, token: u64) -> Option<&mut T> {
        let (generation, place) = self.places.get_mut(token as u32 as usize)?;
        if u64::from(*generation) == token >> 32 {
            place.as_mut()
        } else {
            None
        }
    }

    pub fn remove(&mut self, token: u64) -> Option<T> {
        self.get_mut(token)?;
        let (generation, place) = self.places.get_mut(token as u32 as usize)?;
        *generation = generation.wrapping_add(1);
        self.vacant.push(token as u32);
        place.take()
    }

    pub fn len(&self) -> usize {
        self.places.len() - self.vacant.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Everything that is there.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.places
            .iter()
            .enumerate()
            .filter_map(|(index, (generation, place))| {
                let value = place.as_ref()?;
                Some((token(index as u32, *generation), value))
            })
    }
}

fn token(index: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_the_past_reaches_nobody() {
        let mut slab = Slab::new();
        assert_eq!(slab.next_token(), slab.insert('a'));
        let first = slab.iter().next().unwrap().0;
        assert_eq!(slab.remove(first), Some('a'));
        let next = slab.next_token();
        let second = slab.insert('b');
        assert_eq!(next, second);
        assert_ne!(first, second);
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(slab.get_mut(second), Some(&mut 'b'));
        let all: Vec<_> = slab.iter().collect();
        assert_eq!((slab.len(), all), (1, vec![(second, &'b')]));
    }
}
