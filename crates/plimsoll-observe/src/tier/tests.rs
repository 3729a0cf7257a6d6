//! A tier in a folder made for the test, and its processes in it.

use std::collections::BTreeSet;

use plimsoll_core::record::Observation;

use super::*;
use crate::neighbours::Neighbours;
use crate::tree::Tree;

const ROOT: u32 = 5_000_000;

fn tier() -> Tier {
    Tier::new("app".to_owned(), Roots::Pid(ROOT))
}

/// One call of a sampler, `second` seconds after the start.
fn sample(tier: &mut Tier, tree: &Tree, second: u64) -> Vec<Observation> {
    let mut batch = Batch {
        at_ns: Nanos::from_secs(second),
        length_ns: Nanos::from_secs(1),
        is_first: second == 0,
        observations: Vec::new(),
        recorded_absent: BTreeSet::new(),
    };
    let proc = tree.proc();
    let sockets = Sockets::read(&proc);
    tier.sample(&proc, 8, &sockets, &Waits::default(), &mut batch);
    batch.observations
}

fn processes(seen: &[Observation]) -> Vec<&ProcessSample> {
    let processes = seen
        .iter()
        .filter_map(|observation| match &observation.seen {
            Seen::Process(process) => Some(process),
            _ => None,
        });
    processes.collect()
}

fn ran(processes: &[&ProcessSample]) -> Nanos {
    let mut sum = Nanos::ZERO;
    for process in processes {
        sum += process.others.run_ns;
        for thread in &process.threads {
            sum += thread.run_ns;
        }
    }
    sum
}

/// What 70 workers ran is the tier's, and none of them is its neighbour.
#[test]
fn of_many_processes_all_that_they_ran_is_counted() {
    let tree = Tree::new("many", &[]);
    let put = |ticks: u64| {
        tree.put_process(ROOT, 1, ticks);
        for pid in ROOT + 1..ROOT + 70 {
            tree.put_process(pid, ROOT, ticks);
        }
        tree.put_process(ROOT + 100, 1, ticks);
    };
    let (mut tier, mut neighbours) = (tier(), Neighbours::default());
    let mut busiest = Vec::new();
    for second in 0..3 {
        put(10 * second);
        let seen = sample(&mut tier, &tree, second);
        let known = tier.pids().collect();
        busiest = neighbours.sample(&tree.proc(), 1.0, &known);
        let processes = processes(&seen);
        if second > 0 {
            assert_eq!(processes.len(), PROCESSES_MAX + 1);
            assert_eq!(
                ran(&processes),
                Nanos(70 * 10 * tick_ns()),
                "second {second}"
            );
        }
    }
    let busiest: Vec<u32> = busiest.iter().map(|neighbour| neighbour.pid).collect();
    assert_eq!(busiest, [ROOT + 100], "the one beside the tier");
}

#[test]
fn one_above_the_bound_takes_the_place_of_one_that_ended() {
    let tree = Tree::new("place", &[]);
    tree.put_process(ROOT, 1, 0);
    for pid in ROOT + 1..ROOT + 66 {
        tree.put_process(pid, ROOT, 0);
    }
    let mut tier = tier();
    sample(&mut tier, &tree, 0);
    assert_eq!((tier.processes.len(), tier.rest.len()), (64, 2));
    std::fs::remove_dir_all(tree.0.join((ROOT + 1).to_string())).unwrap();
    sample(&mut tier, &tree, 1);
    sample(&mut tier, &tree, 2);
    assert_eq!((tier.processes.len(), tier.rest.len()), (64, 1));
    assert_eq!(tier.pids().collect::<BTreeSet<_>>().len(), 65);
}

/// Four workers, each pinned to a core of its own, may use four cores together.
#[test]
fn cores_of_several_processes_are_named() {
    let tree = Tree::new("pinned", &[]);
    for (pid, parent, core) in [(ROOT, 1, 0), (ROOT + 1, ROOT, 1), (ROOT + 2, ROOT, 1)] {
        tree.put_process(pid, parent, 0);
        let status = format!("Cpus_allowed_list:\t{core}\n");
        tree.put(&format!("{pid}/task/{pid}/status"), &status);
    }
    let mut tier = tier();
    sample(&mut tier, &tree, 0);
    let seen = sample(&mut tier, &tree, 1);
    let named = processes(&seen).into_iter().flat_map(|p| &p.cores_named);
    assert_eq!(named.collect::<BTreeSet<_>>(), BTreeSet::from([&0, &1]));
}

/// A process of a container that is watched by its number: its connections are in tables that are not ours.
#[test]
fn whom_a_process_of_another_network_namespace_calls_is_not_seen() {
    let seen_from = |own: &str| {
        let tree = Tree::new("namespace", &[]);
        tree.put_process(ROOT, 1, 0);
        tree.link(&format!("{ROOT}/fd/3"), "socket:[77]");
        tree.link(&format!("{ROOT}/ns/net"), "net:[2]");
        tree.link("self/ns/net", own);
        let mut tier = tier();
        sample(&mut tier, &tree, 0);
        let seen = sample(&mut tier, &tree, 1);
        let out = processes(&seen)[0].connections_out.clone();
        let told = |o: &Observation| match &o.seen {
            Seen::Absent(absent) => absent.what == "connections",
            _ => false,
        };
        (out, seen.iter().any(told))
    };
    assert_eq!(seen_from("net:[1]"), (None, true));
    assert_eq!(seen_from("net:[2]"), (Some(BTreeMap::new()), false));
}
