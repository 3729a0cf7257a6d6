//! What is sent is read once and in order, the end is known on both sides, and who is urgent waits for nobody.

use std::thread;

use rustix::thread::{CpuSet, gettid, sched_setaffinity};

use super::*;
use crate::clock::thread_run_time;
use crate::priority::Priority;

#[test]
fn messages_come_once_and_in_order_and_then_the_end() {
    let (sender, receiver) = mailbox();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    let other = sender.clone();
    sender.send(1);
    other.send(2);
    drop(sender);
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.recv_timeout(Nanos::ZERO), Ok(2));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(
        receiver.recv_timeout(Nanos::from_millis(1)),
        Err(RecvTimeoutError::Timeout)
    );
    other.send(3);
    drop(other);
    assert_eq!(receiver.try_recv(), Ok(3));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(
        receiver.recv_timeout(Nanos::MAX),
        Err(RecvTimeoutError::Disconnected)
    );
}

#[test]
fn nothing_is_kept_for_a_reader_that_is_gone() {
    let (sender, receiver) = mailbox();
    let message = Arc::new(());
    sender.send(Arc::clone(&message));
    drop(receiver);
    sender.send(Arc::clone(&message));
    assert_eq!(Arc::strong_count(&message), 1);
}

#[test]
fn a_reader_that_waits_is_woken_by_a_message_and_by_the_end() {
    let (sender, receiver) = mailbox();
    let reader = thread::spawn(move || {
        let mut read = Vec::new();
        while let Ok(message) = receiver.recv_timeout(Nanos::MAX) {
            read.push(message);
        }
        read
    });
    let senders: Vec<_> = (0..4)
        .map(|part| {
            let sender = sender.clone();
            thread::spawn(move || (0..1_000).for_each(|number| sender.send((part, number))))
        })
        .collect();
    drop(sender);
    for sender in senders {
        sender.join().unwrap();
    }
    let read = reader.join().unwrap();
    for part in 0..4 {
        let numbers = read.iter().filter(|(from, _)| *from == part);
        assert!(numbers.map(|(_, number)| *number).eq(0..1_000));
    }
}

/// On one core a reader of real time interrupts the writer between any two instructions, and a hundred thousand times. With
/// a channel that yields until a message is whole it then ran for most of a second at a time, which is processor time, however
/// busy the machine is. Where the kernel allows no real time this shows nothing.
#[test]
fn an_urgent_reader_never_spins_for_the_writer_that_it_interrupted() {
    let here = |cpu| {
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(Some(gettid()), &one)
    };
    let cpu = rustix::thread::sched_getcpu();
    let (sender, receiver) = mailbox();
    let reader = thread::spawn(move || {
        let _anywhere = here(cpu);
        let _slack = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let _normal = Priority::raise();
        let (mut longest, mut read) = (Nanos::ZERO, 0_u32);
        loop {
            let before = thread_run_time();
            let found = receiver.try_recv();
            longest = longest.max(thread_run_time().saturating_sub(before));
            match found {
                Ok(()) => read += 1,
                Err(TryRecvError::Empty) => thread::sleep(Duration::from_micros(20)),
                Err(TryRecvError::Disconnected) => return (longest, read),
            }
        }
    });
    let writer = thread::spawn(move || {
        let _anywhere = here(cpu);
        for _ in 0..300_000 {
            sender.send(());
        }
    });
    writer.join().unwrap();
    let (longest, read) = reader.join().unwrap();
    assert_eq!(read, 300_000);
    assert!(longest < Nanos::from_millis(100), "ran for {longest}");
}
