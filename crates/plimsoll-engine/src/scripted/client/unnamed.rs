//! Calls to hosts whose name is being looked up: they wait, and everyone else goes on.

use std::rc::Rc;

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::connection::Failure;
use plimsoll_script::http::{HttpError, RequestUrl};

use super::super::exchange::{Exchange, error_of};
use super::{Client, interruption};

/// A call whose host has no address yet.
#[derive(Debug)]
pub(super) struct Unnamed {
    pub(super) vu: usize,
    pub(super) url: Rc<RequestUrl>,
    pub(super) exchange: Box<Exchange>,
}

impl Client {
    pub(in super::super) fn waits_for_names(&self) -> bool {
        !self.unnamed.is_empty()
    }

    pub(super) fn refuse_name(
        &mut self,
        vu: usize,
        exchange: Box<Exchange>,
        error: HttpError,
        now: Nanos,
    ) {
        let outcome = if error.code < 1200 {
            Outcome::Dns
        } else {
            Outcome::Tls
        };
        self.refuse(vu, exchange, outcome, error, now);
    }

    /// Calls whose name has been looked up go on.
    pub(in super::super) fn take_names(&mut self, now: Nanos) {
        while !self.unnamed.is_empty()
            && let Some((place, problem)) = self.names.answer(now)
        {
            let is_its =
                |call: &mut Unnamed| (&*call.url.host, call.url.port) == (&*place.0, place.1);
            let calls: Vec<Unnamed> = self.unnamed.extract_if(.., is_its).collect();
            for Unnamed { vu, url, exchange } in calls {
                match &problem {
                    Some(error) => self.refuse_name(vu, exchange, error.clone(), now),
                    None => self.carry(vu, exchange, &url, now),
                }
            }
        }
        self.flush();
    }

    pub(super) fn sweep_unnamed(&mut self, now: Nanos) {
        let is_over = |call: &mut Unnamed| call.exchange.deadline <= now;
        let late: Vec<Unnamed> = self.unnamed.extract_if(.., is_over).collect();
        for Unnamed { vu, exchange, .. } in late {
            let error = error_of(&Failure::new(Outcome::Timeout, "request timeout"));
            self.refuse(vu, exchange, Outcome::Dns, error, now);
        }
    }

    pub(super) fn cancel_unnamed(&mut self, vu: usize, now: Nanos) {
        let is_its = |call: &mut Unnamed| call.vu == vu;
        let own: Vec<Unnamed> = self.unnamed.extract_if(.., is_its).collect();
        for Unnamed { exchange, .. } in own {
            self.refuse(vu, exchange, Outcome::Interrupted, interruption(), now);
        }
    }
}
