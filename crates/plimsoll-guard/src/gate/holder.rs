//! Who holds the permits of an upstream, for `explain`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plimsoll_control::admission::Ticket;
use plimsoll_core::Nanos;

pub(crate) type Holders = BTreeMap<Ticket, Holder>;

#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) route: String,
    pub(crate) client: IpAddr,
    /// The tenant, where it is not the client's address.
    pub(crate) tenant: Option<String>,
    pub(crate) since: Nanos,
}
