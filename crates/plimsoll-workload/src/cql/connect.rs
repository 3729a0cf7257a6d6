//! Opens a session of the CQL driver: its nodes, its user, its pool, its policies.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use plimsoll_core::Outcome;
use plimsoll_core::test::workload;
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::retry::{DefaultRetryPolicy, FallthroughRetryPolicy, RetryPolicy};
use scylla::statement::Consistency;
use tokio::time::{Instant, sleep, timeout};

use super::errors;
use crate::driver::{Failure, Seat};
use crate::keys::Fate;
use crate::store::hosts;

/// Between looks at whether the pool is full.
const LOOK: Duration = Duration::from_millis(5);

pub(super) fn consistency(of: workload::Consistency) -> Consistency {
    match of {
        workload::Consistency::One => Consistency::One,
        workload::Consistency::Two => Consistency::Two,
        workload::Consistency::Three => Consistency::Three,
        workload::Consistency::Quorum => Consistency::Quorum,
        workload::Consistency::All => Consistency::All,
        workload::Consistency::LocalQuorum => Consistency::LocalQuorum,
        workload::Consistency::LocalOne => Consistency::LocalOne,
    }
}

/// The name and the password of a URL.
fn user(store: &str) -> Option<(String, String)> {
    let (_, rest) = store.split_once("://")?;
    let (user, _) = rest.rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let plain = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some((plain(name), plain(password)))
}

/// A session whose pools have all their connections.
pub(super) async fn session(seat: Seat<'_>) -> Result<Session, Failure> {
    let client = &seat.workload.client;
    let retries: Arc<dyn RetryPolicy> = if client.driver_retries {
        Arc::new(DefaultRetryPolicy::new())
    } else {
        Arc::new(FallthroughRetryPolicy::new())
    };
    let mut profile = ExecutionProfile::builder()
        .request_timeout(None)
        .retry_policy(retries);
    if let Some(wanted) = client.consistency {
        profile = profile.consistency(consistency(wanted));
    }
    let nodes = hosts(&seat.workload.store).into_iter();
    let nodes = nodes.map(|(host, port)| {
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    });
    let each = NonZeroUsize::new(seat.connections as usize).unwrap_or(NonZeroUsize::MIN);
    let mut builder = SessionBuilder::new()
        .known_nodes(nodes)
        .pool_size(PoolSize::PerHost(each))
        .connection_timeout(seat.patience)
        .default_execution_profile_handle(profile.build().into_handle());
    if let Some((name, password)) = user(&seat.workload.store) {
        builder = builder.user(name, password);
    }
    let end = Instant::now() + seat.patience;
    let session = timeout(seat.patience, builder.build()).await;
    let session = session.map_err(|_| late(&"no answer", seat.patience))?;
    let session = session.map_err(|error| errors::of_session(&error))?;
    loop {
        let state = session.get_cluster_state();
        let nodes = state.get_nodes_info().iter();
        let up = nodes.filter(|node| node.is_connected()).count();
        let open = session.get_metrics().get_total_connections();
        let wanted = (up * each.get()) as u64;
        if up > 0 && open >= wanted {
            return Ok(session);
        }
        if Instant::now() >= end {
            let what = format!("{open} of {wanted} connections of the pool");
            return Err(late(&what, seat.patience));
        }
        sleep(LOOK).await;
    }
}

fn late(what: &dyn std::fmt::Display, patience: Duration) -> Failure {
    let reason = format!("{what} within {patience:?}");
    errors::failed((Outcome::ConnectTimeout, Fate::NotDone), true, &reason)
}
