//! The streams of a connection that wait for their answers, in order of their numbers.

use super::peer::Peer;

#[derive(Debug)]
pub(super) struct Stream<B> {
    pub(super) id: u32,
    pub(super) owner: u64,
    /// `0` until the head has come.
    pub(super) status: u16,
    /// Frames of the answer, their heads included.
    pub(super) bytes: u64,
    /// Bytes of the answer that the peer was not told of as taken.
    pub(super) taken: u32,
    /// What the peer still takes of the body.
    pub(super) window: i64,
    /// The request's body while some of it is to be sent.
    body: Option<(B, usize)>,
}

impl<B: AsRef<[u8]>> Stream<B> {
    pub(super) fn new(id: u32, owner: u64, body: Option<B>, window: i64) -> Self {
        Self {
            id,
            owner,
            status: 0,
            bytes: 0,
            taken: 0,
            window,
            body: body.map(|body| (body, 0)),
        }
    }

    pub(super) fn has_body_left(&self) -> bool {
        self.body.is_some()
    }

    /// The next part of the body that frame and windows allow, and whether it is the last.
    pub(super) fn next_part(&self, peer: &Peer) -> Option<(&[u8], bool)> {
        let (body, sent) = self.body.as_ref()?;
        let allowed = usize::try_from(self.window.min(peer.window)).ok()?;
        let left = body.as_ref().get(*sent..)?;
        let length = left.len().min(allowed).min(peer.frame_max);
        Some((left.get(..length)?, length == left.len()))
    }

    pub(super) fn sent(&mut self, length: i64) {
        self.window -= length;
        if let Some((body, sent)) = &mut self.body {
            *sent += length.unsigned_abs() as usize;
            if *sent >= body.as_ref().len() {
                self.body = None;
            }
        }
    }
}

/// Few enough at a time, and answered nearly in order, that a sorted list is faster than any map.
#[derive(Debug)]
pub(super) struct Streams<B> {
    list: Vec<Stream<B>>,
    next_id: u32,
}

impl<B> Default for Streams<B> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            next_id: 1,
        }
    }
}

impl<B: AsRef<[u8]>> Streams<B> {
    /// The number of the next stream; clients have the odd ones.
    pub(super) fn next_id(&self) -> u32 {
        self.next_id
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn push(&mut self, stream: Stream<B>) {
        self.next_id = stream.id + 2;
        self.list.push(stream);
    }

    #[inline]
    fn place(&self, id: u32) -> Option<usize> {
        self.list.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    #[inline]
    pub(super) fn get(&mut self, id: u32) -> Option<&mut Stream<B>> {
        let place = self.place(id)?;
        self.list.get_mut(place)
    }

    #[inline]
    pub(super) fn remove(&mut self, id: u32) -> Option<Stream<B>> {
        let place = self.place(id)?;
        Some(self.list.remove(place))
    }

    pub(super) fn has_body_left(&self, id: u32) -> bool {
        let stream = self.place(id).and_then(|place| self.list.get(place));
        stream.is_some_and(Stream::has_body_left)
    }

    pub(super) fn with_body(&mut self) -> impl Iterator<Item = &mut Stream<B>> {
        self.list.iter_mut().filter(|stream| stream.has_body_left())
    }

    /// Takes out the streams above a number; their owners.
    pub(super) fn take_above(&mut self, last: u32) -> Vec<u64> {
        let keep = self.list.partition_point(|stream| stream.id <= last);
        self.list.drain(keep..).map(|stream| stream.owner).collect()
    }

    pub(super) fn take_owners(&mut self) -> Vec<u64> {
        self.list.drain(..).map(|stream| stream.owner).collect()
    }
}
