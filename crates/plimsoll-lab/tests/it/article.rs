//! The doubled-servers application stores what it says it stored, and its pool is the limit that it is told to be.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use plimsoll_docdb::server::{Config, Durability, Scheduler, Server};

use crate::support::{Served, alone, get, serve_to_end};

/// A database in this process, in a folder of its own.
pub(crate) struct Database {
    server: Option<Server>,
    folder: PathBuf,
}

impl Database {
    /// Each sync of its disk takes so much longer.
    pub(crate) fn start(slow_fsync: Duration) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("plimsoll-article-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let server = Server::start(Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            unix: None,
            tls: None,
            data: folder.clone(),
            durability: Durability::Always,
            scheduler: Scheduler::Sharded,
            shards: None,
            auth: false,
            queue: 1000,
            connections: 1000,
            cache_bytes: 16 << 20,
            memory_bytes: 64 << 20,
            slow_fsync,
            log: |_| {},
        });
        Self {
            server: Some(server.unwrap()),
            folder,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.as_ref().unwrap().address()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let stopped = self.server.take().map(Server::stop);
        let _gone = std::fs::remove_dir_all(&self.folder);
        assert!(stopped.is_none_or(|stopped| stopped.is_ok()));
    }
}

/// The value of a gauge or counter that counts things.
fn metric(address: SocketAddr, name: &str) -> usize {
    let page = get(address, "/metrics");
    let line = page
        .text()
        .lines()
        .find(|line| line.split(' ').next() == Some(name));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{name} is missing in {}", page.text()))
}

/// Statuses of so many requests at once.
fn at_once(address: SocketAddr, count: usize) -> Vec<u16> {
    let ask = || std::thread::spawn(move || get(address, "/").status);
    let running: Vec<_> = (0..count).map(|_| ask()).collect();
    running.into_iter().map(|one| one.join().unwrap()).collect()
}

#[test]
fn every_page_is_stored_before_it_is_answered() {
    let database = Database::start(Duration::ZERO);
    let to = database.address().to_string();
    let mut app = Served::start("article-app", &["--upstream", &to]);
    assert!(app.watch_line().contains("database=port:"));
    let page = get(app.address, "/");
    assert_eq!(page.status, 200);
    assert!(page.text().contains("latency_ms"), "{}", page.text());
    assert!(at_once(app.address, 40).iter().all(|status| *status == 200));
    let metrics = get(database.address(), "/metrics");
    let answered = "database=\"article\",result=\"ok\",le=\"+Inf\"} 82";
    assert!(
        metrics.text().contains(answered),
        "41 pages, two commands each: {}",
        metrics.text()
    );
    assert_eq!(app.stop(), Some(0));
}

#[test]
fn a_small_pool_whose_waits_time_out_fails_in_the_application() {
    let database = Database::start(Duration::from_millis(30));
    let to = database.address().to_string();
    let small = [
        "--upstream",
        &to,
        "--set",
        "pool=1",
        "--set",
        "wait_timeout=40",
    ];
    let app = Served::start("article-app", &small);
    let statuses = at_once(app.address, 20);
    let failed = statuses.iter().filter(|status| **status == 500).count();
    assert!((1..20).contains(&failed), "{statuses:?}");
    assert_eq!(metric(app.address, "pool_timeouts_total"), failed);
    assert_eq!(metric(app.address, "pool_max"), 1);
    assert_eq!(app.stop(), Some(0));
}

#[test]
fn a_database_that_is_not_there_is_a_500_with_its_address() {
    let app = Served::start("article-app", &["--upstream", "127.0.0.1:1"]);
    let page = get(app.address, "/");
    assert_eq!(page.status, 500);
    assert!(page.text().contains("127.0.0.1:1"), "{}", page.text());
}

/// Waits until a counter has come to that value.
fn wait_for(address: SocketAddr, name: &str, value: usize) {
    for _ in 0..2_000 {
        if metric(address, name) == value {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!(
        "{name} is {} after 20 s, not {value}",
        metric(address, name)
    );
}

#[test]
fn accepted_is_not_done_and_what_was_popped_dies_with_the_worker() {
    let _alone = alone();
    let database = Database::start(Duration::from_millis(200));
    let list = Served::beside("list", &[]);
    let (list_at, database_at) = (list.address.to_string(), database.address().to_string());
    let app = Served::beside("article-queue", &["--upstream", &list_at, "--set", "cpu=0"]);
    assert!(at_once(app.address, 30).iter().all(|status| *status == 202));
    assert_eq!(
        metric(list.address, "list_queue_length"),
        30,
        "accepted, and nothing done"
    );

    let to = [
        "--upstream",
        &list_at,
        "--upstream",
        &database_at,
        "--set",
        "loops=4",
    ];
    let mut worker = Served::beside("article-worker", &to);
    wait_for(worker.address, "worker_pending", 4);
    worker.signal("KILL");
    worker.ended();
    let popped = metric(list.address, "list_popped_total");
    let left = metric(list.address, "list_queue_length");
    assert_eq!(popped + left, 30);
    assert!(popped >= 4);

    let worker = Served::beside("article-worker", &to);
    wait_for(worker.address, "worker_done_total", left);
    assert_eq!(
        metric(list.address, "list_queue_length"),
        0,
        "all is popped, though not all was done"
    );
    assert_eq!(worker.stop(), Some(0));
}

#[test]
fn a_worker_needs_a_list_and_a_database() {
    let ended = serve_to_end(&["article-worker", "--port", "0", "--upstream", "127.0.0.1:1"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        !ended.status.success() && said.contains("--upstream LIST --upstream DATABASE"),
        "{said}"
    );
}
