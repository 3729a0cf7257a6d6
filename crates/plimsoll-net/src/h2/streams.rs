//! The streams of a connection that wait for their answers, in order of their numbers.

use super::peer::Peer;

/// What belongs to a request besides its header block.
#[derive(Debug)]
pub struct NewStream<B> {
    pub body: Option<B>,
    /// The method is HEAD: its answer has no content, whatever it says.
    pub is_head: bool,
    /// What its events are told with.
    pub owner: u64,
}

#[derive(Debug)]
pub(super) struct Stream<B> {
    pub(super) id: u32,
    pub(super) owner: u64,
    /// `0` until the head has come.
    pub(super) status: u16,
    /// Frames of the answer, their heads included.
    pub(super) bytes: u64,
    /// Bytes of the answer's content that are still to come, once its head has said how many.
    pub(super) left: Option<u64>,
    /// The answer has no content, whatever its head says.
    is_head: bool,
    /// The server has said all that it has to say.
    pub(super) is_ended: bool,
    /// Bytes of the answer that the peer was not told of as taken.
    pub(super) taken: u32,
    /// What the peer still takes of the body.
    pub(super) window: i64,
    /// The request's body while some of it is to be sent.
    body: Option<(B, usize)>,
}

impl<B: AsRef<[u8]>> Stream<B> {
    pub(super) fn new(id: u32, stream: NewStream<B>, window: i64) -> Self {
        Self {
            id,
            owner: stream.owner,
            status: 0,
            bytes: 0,
            left: None,
            is_head: stream.is_head,
            is_ended: false,
            taken: 0,
            window,
            body: stream.body.map(|body| (body, 0)),
        }
    }

    /// The final head has come, with the length that it gives the content.
    pub(super) fn begin(&mut self, status: u16, length: Option<u64>) {
        self.status = status;
        let has_none = self.is_head || matches!(status, 204 | 304);
        self.left = if has_none { Some(0) } else { length };
    }

    /// Takes some of the content: as much of it as may come, and whether that is all.
    #[inline]
    pub(super) fn take<'a>(&mut self, content: &'a [u8]) -> (&'a [u8], bool) {
        let Some(left) = &mut self.left else {
            return (content, true);
        };
        let taken = (*left).min(content.len() as u64);
        *left -= taken;
        let (taken, surplus) = content.split_at(taken as usize);
        (taken, surplus.is_empty())
    }

    pub(super) fn has_body_left(&self) -> bool {
        self.body.is_some()
    }

    /// The next part of the body, and whether it is the last: as long as what is left, a frame, the stream's window and
    /// that of the connection all allow. A window below zero allows nothing.
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

    /// There was such a stream: this side opens the odd ones in their order, and the server may open none.
    #[inline]
    pub(super) fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next_id
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
