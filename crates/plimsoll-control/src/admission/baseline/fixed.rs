//! A limit that somebody has chosen.

use super::super::limit::{Answer, Explained, Limit};

#[derive(Debug)]
pub(in super::super) struct Fixed(pub(in super::super) u32);

impl Limit for Fixed {
    fn limit(&self) -> u32 {
        self.0.max(1)
    }

    fn answered(&mut self, _answer: &Answer) {}

    fn explain(&self) -> Explained {
        Explained {
            level: f64::from(self.limit()),
            ..Explained::default()
        }
    }
}
