//! Batches over a backend that only notes what it is asked.

use bson::rawdoc;

use super::*;
use crate::error::Code;
use crate::scheduler::{Client, Ticket};
use crate::wire::Origin;

/// A command that takes 20 ms.
const DEAR: &str = "dear";

/// Notes calls; `fails` makes the next commit fail, `slices` lets each command take that many steps.
#[derive(Debug, Default)]
struct Noted {
    calls: Vec<String>,
    fails: bool,
    slices: u32,
    /// Bytes that each commit is said to write.
    bytes: u64,
}

impl Backend for Noted {
    type Task = (String, u32);

    fn begin(&mut self, request: &Request, _: &Context) -> Step<Self::Task> {
        self.go_on((request.name().to_owned(), self.slices), &context(), None)
    }

    fn go_on(
        &mut self,
        (name, left): Self::Task,
        _: &Context,
        interrupt: Option<Interrupt>,
    ) -> Step<Self::Task> {
        if let Some(interrupt) = interrupt {
            self.calls.push(format!("{interrupt:?}"));
            return Step::Done(rawdoc! { "ok": 0.0 });
        }
        if name == DEAR {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        self.calls.push(name.clone());
        if left > 1 {
            Step::More((name, left - 1))
        } else {
            Step::Done(rawdoc! { "ok": 1.0 })
        }
    }

    fn commit(&mut self) -> Result<Committed> {
        self.calls.push("commit".to_owned());
        if self.fails {
            Err(Code::OutOfDiskSpace.error("disk full"))
        } else {
            Ok(Committed {
                bytes: self.bytes,
                ..Committed::default()
            })
        }
    }

    fn sync(&mut self) -> Result<Committed> {
        self.calls.push("sync".to_owned());
        Ok(Committed::default())
    }

    fn tend(&mut self, _: bson::DateTime) {}

    fn census(&mut self) -> Option<Vec<DatabaseSize>> {
        None
    }
}

fn context() -> Context {
    Context {
        now: bson::DateTime::from_millis(0),
        session: None,
    }
}

/// Batches end by count alone, however slow the machine.
fn unhurried() -> Limits {
    Limits {
        turn: Nanos(u64::MAX),
        ..Limits::default()
    }
}

fn executor(backend: Noted, limits: Limits) -> Executor<Noted> {
    Executor::new(backend, limits, Clock::start(), Default::default())
}

fn submit(executor: &mut Executor<Noted>, database: &str, name: &str) -> Result<(), Done> {
    submit_for(executor, Arc::default(), database, name)
}

fn submit_for(
    executor: &mut Executor<Noted>,
    client: Arc<Client>,
    database: &str,
    name: &str,
) -> Result<(), Done> {
    let mut body = RawDocumentBuf::new();
    body.append(bson::raw::CString::try_from(name).unwrap(), 1);
    let origin = Origin {
        request_id: 1,
        legacy: false,
        compressor: None,
    };
    let ticket = Ticket {
        event_loop: 0,
        connection: 0,
        origin,
        wants_reply: true,
        client,
    };
    let work = Work::Fresh(Box::new(Request::from_document(&body)));
    let arrived = Nanos(0);
    executor.submit(
        database,
        Job {
            ticket,
            work,
            context: context(),
            arrived,
            started: None,
            keeps_turn: false,
        },
    )
}

#[test]
fn what_ran_together_is_committed_once_before_any_reply() {
    let mut executor = executor(Noted::default(), unhurried());
    for name in ["a", "b", "c"] {
        submit(&mut executor, "db", name).unwrap();
    }
    let mut done = Vec::new();
    executor.turn(&mut done);
    assert_eq!((done.len(), executor.has_work()), (3, false));
    assert_eq!(executor.backend.calls, ["a", "b", "c", "commit"]);
}

/// A dear and a quick command of two clients, whose costs are known; whether the quick one was served first, and alone.
fn quick_goes_first() -> bool {
    let mut executor = executor(Noted::default(), unhurried());
    let (much, little) = (Arc::<Client>::default(), Arc::<Client>::default());
    let mut done = Vec::new();
    for (client, name) in [(&much, DEAR), (&little, "point")] {
        submit_for(&mut executor, Arc::clone(client), "db", name).unwrap();
        executor.turn(&mut done);
    }
    executor.limits.turn = Limits::default().turn;
    submit_for(&mut executor, much, "db", DEAR).unwrap();
    submit_for(&mut executor, little, "db", "point").unwrap();
    executor.turn(&mut done);
    assert_eq!((done.len(), executor.has_work()), (3, true));
    executor.turn(&mut done);
    asked(&executor) == [DEAR, "point", "point", DEAR]
}

/// Nearly always: what shares are used up to is compared in steps, and now and then two that are alike stand in two of them.
#[test]
fn nobody_waits_for_the_commit_behind_a_command_that_takes_longer_than_a_turn() {
    let first = (0..12).filter(|_| quick_goes_first()).count();
    assert!(first >= 6, "in {first} of 12");
}

#[test]
fn a_failed_commit_turns_every_reply_of_the_batch_into_an_error() {
    let mut executor = executor(
        Noted {
            fails: true,
            ..Noted::default()
        },
        unhurried(),
    );
    submit(&mut executor, "db", "a").unwrap();
    submit(&mut executor, "other", "b").unwrap();
    let mut done = Vec::new();
    executor.turn(&mut done);
    for one in &done {
        assert_eq!(
            one.reply.get_i32("code").unwrap(),
            Code::OutOfDiskSpace.number()
        );
        assert!(one.reply.get_f64("ok").unwrap() < 1.0);
    }
    let counts = executor.meter.snapshot();
    assert_eq!(
        (counts.failed_commits, counts.databases["db"].failed.count()),
        (1, 1)
    );
    assert_eq!(counts.databases["db"].succeeded.count(), 0);
}

#[test]
fn a_batch_is_bounded_and_the_rest_waits_for_the_next() {
    let mut executor = executor(
        Noted::default(),
        Limits {
            batch: 2,
            ..unhurried()
        },
    );
    for name in ["a", "b", "c"] {
        submit(&mut executor, "db", name).unwrap();
    }
    let mut done = Vec::new();
    executor.turn(&mut done);
    assert_eq!((done.len(), executor.has_work()), (2, true));
    executor.turn(&mut done);
    assert_eq!((done.len(), executor.has_work()), (3, false));
}

/// What was asked of the backend, but for commits, which long commands share as time has it.
fn asked(executor: &Executor<Noted>) -> Vec<&str> {
    let calls = executor.backend.calls.iter().map(String::as_str);
    calls.filter(|call| *call != "commit").collect()
}

#[test]
fn a_long_command_gives_way_between_its_slices() {
    let noted = Noted {
        slices: 2,
        ..Noted::default()
    };
    let mut executor = executor(noted, unhurried());
    submit(&mut executor, "db", "scan").unwrap();
    let mut done = Vec::new();
    executor.turn(&mut done);
    assert_eq!(asked(&executor), ["scan"], "then sockets are looked at");
    submit(&mut executor, "db", "fresh").unwrap();
    while executor.has_work() {
        executor.turn(&mut done);
    }
    assert_eq!(asked(&executor), ["scan", "fresh", "scan", "fresh"]);
    assert_eq!(done.len(), 2);
}

#[test]
fn a_long_command_ends_when_its_client_left_or_it_was_killed() {
    for (kill, expected) in [(false, "ClientLeft"), (true, "Killed")] {
        let slices = 1000;
        let noted = Noted {
            slices,
            ..Noted::default()
        };
        let mut executor = executor(noted, unhurried());
        let client: Arc<Client> = Arc::default();
        submit_for(&mut executor, Arc::clone(&client), "db", "scan").unwrap();
        let mut done = Vec::new();
        executor.turn(&mut done);
        let operations = Arc::clone(&executor.operations);
        let listed = operations.running();
        assert_eq!(
            (listed.len(), listed[0].namespace.as_str()),
            (1, "admin.$cmd")
        );
        if kill {
            assert!(operations.kill(listed[0].id) && !operations.kill(77));
        } else {
            client.leave();
        }
        executor.turn(&mut done);
        assert_eq!(done.len(), 1, "it ended within a slice");
        assert_eq!(asked(&executor), ["scan", expected]);
        assert!(operations.running().is_empty());
    }
}

#[test]
fn a_full_queue_refuses_with_the_labels_that_drivers_retry_on() {
    let mut executor = executor(
        Noted::default(),
        Limits {
            queue: 1,
            ..unhurried()
        },
    );
    submit(&mut executor, "db", "a").unwrap();
    submit(&mut executor, "other", "a").unwrap();
    let refused = submit(&mut executor, "db", "b").unwrap_err().reply;
    assert_eq!(refused.get_i32("code").unwrap(), 462);
    let labels: Vec<_> = refused
        .get_array("errorLabels")
        .unwrap()
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let labels: Vec<_> = labels.iter().filter_map(|label| label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "SystemOverloadedError",
            "RetryableError",
            "NoWritesPerformed"
        ]
    );
    assert_eq!(executor.meter.snapshot().databases["db"].refused, 1);
}

#[test]
fn what_was_acknowledged_early_is_synced_in_its_time_and_once() {
    let limits = Limits {
        sync_every: Some(Nanos(1_000_000)),
        ..unhurried()
    };
    let backend = Noted {
        bytes: 1,
        ..Noted::default()
    };
    let mut executor = executor(backend, limits);
    let most = Nanos(50_000_000);
    executor.tend();
    executor.backend.bytes = 0;
    executor.tend();
    let synced = |executor: &Executor<Noted>| {
        asked(executor)
            .iter()
            .filter(|call| **call == "sync")
            .count()
    };
    let before = synced(&executor);
    executor.next_sync = None;
    assert_eq!(executor.idle(most), most, "nothing is to be synced");
    executor.backend.bytes = 1;
    // Commands without a rest between them: what is due is done all the same.
    let begun = executor.clock.now();
    while synced(&executor) == before {
        submit(&mut executor, "db", "insert").unwrap();
        executor.turn(&mut Vec::new());
        assert!(executor.idle(most) <= Nanos(1_000_000));
        executor.tend();
        let waited = executor.clock.now().0 - begun.0;
        assert!(waited < 60_000_000_000, "it is never synced");
    }
    assert_eq!(executor.idle(most), most, "everything is synced");
}
