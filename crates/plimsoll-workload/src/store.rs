//! What surrounds a load: whether the store answers, clean databases with their documents, and the look at the end.

use std::time::Duration;

use plimsoll_base::clock::Clock;
use plimsoll_core::Outcome;
use plimsoll_core::record::Verified;
use plimsoll_core::test::Workload;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::WorkloadError;
use crate::driver::{Driver, Failure, Seat};
use crate::keys::{Fate, Ledger};
use crate::wire;

/// Connections that fill one database.
const LOADERS: u32 = 4;
/// A busy store may turn work away while it is filled.
const TRIES: u32 = 20;
/// Codes with which MongoDB and CQL say that a user may not do that.
const DENIED: [u16; 4] = [13, 18, 0x0100, 0x2100];
const PAUSE: Duration = Duration::from_millis(100);

fn runtime() -> Result<Runtime, WorkloadError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| WorkloadError::Runtime { source })
}

fn failed(what: &str, database: &str) -> impl Fn(Failure) -> WorkloadError {
    let doing = format!("{what} of database {database}");
    move |failure| WorkloadError::Store {
        doing: doing.clone(),
        reason: match failure.fate {
            Fate::NotDone if DENIED.contains(&failure.status) => {
                format!(
                    "{}; may this user do so? its name and password belong into the URL",
                    failure.reason
                )
            }
            _ => failure.reason,
        },
    }
}

/// Whether the store answers, and lets us in.
pub(crate) fn greet<D: Driver>(
    workload: &Workload,
    patience: Duration,
) -> Result<(), WorkloadError> {
    let runtime = runtime()?;
    let seat = Seat {
        workload,
        database: 0,
        lane: 0,
        connections: 1,
        patience,
    };
    let greeted = runtime.block_on(async { D::open(seat).await.map(drop) });
    greeted.map_err(|failure| WorkloadError::Unreachable {
        store: shown(&workload.store),
        reason: failure.reason,
        fix: fix(workload, failure.outcome),
    })
}

fn fix(workload: &Workload, outcome: Outcome) -> &'static str {
    let is_cql = workload.store.starts_with("cql:");
    match outcome {
        Outcome::CheckFailed if is_cql => {
            "give a name and a password that it knows in the URL: cql://NAME:PASSWORD@HOST:PORT"
        }
        Outcome::Refused => "is the store running, and is the port right?",
        Outcome::CheckFailed => {
            "give a name and a password that it knows in the URL: mongodb://NAME:PASSWORD@HOST:PORT/?authSource=admin"
        }
        Outcome::Tls => {
            "a store with TLS needs ?tls=true in its URL, and tlsCAFile for a certificate of your own"
        }
        Outcome::Dns => "is the name of the host right?",
        _ => "is the address right, and does the store speak this protocol on this port?",
    }
}

/// A URL of a store without the password in it.
pub fn shown(store: &str) -> String {
    let Some((scheme, rest)) = store.split_once("://") else {
        return store.to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (hosts, tail) = rest.split_at(end);
    match hosts.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{scheme}://{name}:***@{host}{tail}")
        }
        None => store.to_owned(),
    }
}

/// The hosts of a store with their ports.
pub fn hosts(store: &str) -> Vec<(String, u16)> {
    /// Those of MongoDB and of CQL.
    const PORTS: [u16; 2] = [27_017, 9_042];
    let port_unsaid = PORTS[usize::from(store.starts_with("cql:"))];
    let rest = store.split_once("://").map_or(store, |(_, rest)| rest);
    let hosts = rest.split(['/', '?']).next().unwrap_or_default();
    let hosts = hosts.rsplit_once('@').map_or(hosts, |(_, hosts)| hosts);
    let each = hosts.split(',').map(|host| {
        let bare = |host: &str| host.trim_matches(['[', ']']).to_owned();
        let with_port = host.rsplit_once(':').and_then(|(host, port)| {
            let is_whole = !host.contains(':') || host.ends_with(']');
            Some((bare(host), port.parse().ok()?)).filter(|_| is_whole)
        });
        with_port.unwrap_or_else(|| (bare(host), port_unsaid))
    });
    each.collect()
}

/// A URL of a store of CQL is `cql://[NAME:PASSWORD@]HOST[:PORT][,HOST…]` and nothing else.
pub(crate) fn check_cql(store: &str) -> Result<(), String> {
    let rest = store.split_once("://").map_or(store, |(_, rest)| rest);
    let shape = "write cql://HOST:PORT, with several nodes as cql://HOST:PORT,HOST:PORT";
    if rest.trim_end_matches('/').contains(['/', '?', '#']) {
        return Err(format!(
            "`{}` has a path or options, which nothing would read: {shape}; consistency and copies are keys of the workload",
            shown(store)
        ));
    }
    let hosts = rest.trim_end_matches('/');
    let (user, hosts) = hosts
        .rsplit_once('@')
        .map_or((None, hosts), |(user, hosts)| (Some(user), hosts));
    if user.is_some_and(|user| !user.contains(':')) {
        return Err(format!(
            "`{}` has a name without a password: write cql://NAME:PASSWORD@HOST:PORT",
            shown(store)
        ));
    }
    for host in hosts.split(',') {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
            _ => (host, None),
        };
        if name.is_empty() {
            return Err(format!("`{}` names no host: {shape}", shown(store)));
        }
        if let Some(port) = port.filter(|port| port.parse::<u16>().map_or(true, |port| port == 0)) {
            return Err(format!("`{port}` is no port: {shape}"));
        }
    }
    Ok(())
}

/// Drops the databases of the workload and fills them anew: every run begins with the same documents.
pub(crate) fn load<D: Driver>(
    workload: &Workload,
    (clock, patience): (Clock, Duration),
) -> Result<Vec<Ledger>, WorkloadError> {
    let runtime = runtime()?;
    wire::begin(clock, 0);
    let mut ledgers = Vec::new();
    for (number, database) in workload.databases.iter().enumerate() {
        let seat = Seat {
            workload,
            database: number,
            lane: 0,
            connections: LOADERS,
            patience,
        };
        let loading = async {
            let name = &database.name;
            let driver = D::open(seat).await.map_err(failed("opening", name))?;
            driver.clear().await.map_err(failed("dropping", name))?;
            driver
                .prepare()
                .await
                .map_err(failed("preparation", name))?;
            fill(driver, database.documents)
                .await
                .map_err(failed("filling", name))
        };
        runtime.block_on(tokio::task::LocalSet::new().run_until(loading))?;
        ledgers.push(Ledger::loaded(database.documents));
    }
    Ok(ledgers)
}

async fn fill<D: Driver>(driver: D, documents: u32) -> Result<(), Failure> {
    let driver = std::rc::Rc::new(driver);
    let mut loaders = JoinSet::new();
    for loader in 0..D::FILLERS {
        let driver = std::rc::Rc::clone(&driver);
        loaders.spawn_local(async move {
            let batches = (0..documents).step_by(D::FILL_BATCH as usize);
            for first in batches.skip(loader as usize).step_by(D::FILLERS as usize) {
                let keys: Vec<u32> = (first..documents.min(first + D::FILL_BATCH)).collect();
                insert(&*driver, &keys, 0).await?;
            }
            Ok(())
        });
    }
    while let Some(ended) = loaders.join_next().await {
        // A loader that panicked has said so by itself.
        ended.unwrap_or(Ok(()))?;
    }
    Ok(())
}

/// A store that takes documents without an error and does not have them cannot be loaded.
fn incomplete(documents: u64, asked: usize) -> Failure {
    Failure {
        outcome: Outcome::CheckFailed,
        status: 0,
        fate: Fate::Unknown,
        is_duplicate: false,
        may_retry: false,
        reason: format!("it acknowledged {documents} of {asked} documents without an error"),
    }
}

async fn insert<D: Driver>(driver: &D, keys: &[u32], mut tries: u32) -> Result<(), Failure> {
    let is_undone = |fate| matches!(fate, Fate::NotDone | Fate::Untouched);
    loop {
        match driver.insert(keys).await {
            Ok(answer) if answer.documents == keys.len() as u64 => return Ok(()),
            Ok(answer) => return Err(incomplete(answer.documents, keys.len())),
            Err(failure) if failure.is_duplicate && tries > 0 && keys.len() == 1 => return Ok(()),
            Err(failure) if failure.is_duplicate && tries > 0 => {
                // The try before stored some of them; which, each tells by itself.
                for key in keys {
                    Box::pin(insert(driver, &[*key], tries)).await?;
                }
                return Ok(());
            }
            Err(failure) if failure.may_retry && is_undone(failure.fate) && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// Reads every document once and holds it against the ledgers; drops the databases unless they are to stay.
pub(crate) fn look<D: Driver>(
    workload: &Workload,
    ledgers: &[Ledger],
    patience: Duration,
) -> Result<Option<Verified>, WorkloadError> {
    let runtime = runtime()?;
    let mut all = workload.verify.then(Verified::default);
    for (number, (database, ledger)) in workload.databases.iter().zip(ledgers).enumerate() {
        let seat = Seat {
            workload,
            database: number,
            lane: 0,
            connections: 1,
            patience,
        };
        let looking = async {
            let name = &database.name;
            let driver = D::open(seat).await.map_err(failed("opening", name))?;
            if let Some(all) = &mut all {
                let stored = driver
                    .stored()
                    .await
                    .map_err(failed("verification", name))?;
                all.add(&ledger.verify(&stored));
            }
            if !workload.keep {
                driver.clear().await.map_err(failed("dropping", name))?;
            }
            Ok(())
        };
        runtime.block_on(looking)?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown_and_hosts_are_found() {
        let store = "mongodb://me:s3cret@db.example:27018,[::1]:7/?authSource=admin";
        assert_eq!(
            shown(store),
            "mongodb://me:***@db.example:27018,[::1]:7/?authSource=admin"
        );
        let found = [("db.example".to_owned(), 27018), ("::1".to_owned(), 7)];
        assert_eq!(hosts(store), found);
        assert_eq!(
            hosts("mongodb://127.0.0.1"),
            [("127.0.0.1".to_owned(), 27017)]
        );
        assert_eq!(shown("mongodb://127.0.0.1"), "mongodb://127.0.0.1");
    }
}
