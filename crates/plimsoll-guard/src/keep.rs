//! What goes on besides requests: time for each upstream's limit, checks, names that are looked up again.

use std::io;
use std::rc::{Rc, Weak};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use crate::config::Check;
use crate::shared::Server;
use crate::upstreams::{Member, Upstreams};

/// How often kept connections that are too old are closed.
const TIDY: Duration = Duration::from_secs(1);
/// How often it is looked whether there is a check by now.
const UNCHECKED: Duration = Duration::from_secs(1);
/// How often names are looked up again, and upstreams compared.
const RESOLVE_EVERY: Duration = Duration::from_secs(10);
/// A longer first line of an answer is none.
const LINE_BYTES: usize = 4096;

/// Starts what goes on for the groups that are in force; what went on for others ends by itself.
pub(crate) fn attend(server: &Rc<Server>) {
    for group in &server.policy().groups {
        attend_members(group);
        let (server, group) = (Rc::downgrade(server), Rc::downgrade(group));
        spawn_local(look_again(server, group));
    }
}

fn attend_members(group: &Upstreams) {
    for member in group.members() {
        // Only now, when the settings are in force.
        member.set_check(group.config.check.as_ref());
        member.set_slow_start(group.config.slow_start);
        if !member.is_kept.replace(true) {
            spawn_local(tick(Rc::downgrade(&member)));
            spawn_local(tidy(Rc::downgrade(&member)));
            spawn_local(check(Rc::downgrade(&member)));
        }
    }
}

async fn look_again(server: Weak<Server>, group: Weak<Upstreams>) {
    loop {
        sleep(RESOLVE_EVERY).await;
        let (Some(server), Some(group)) = (server.upgrade(), group.upgrade()) else {
            return;
        };
        // A stream that was begun before a reload keeps its group, whose settings are in force no longer.
        let is_in_force = |one: &Rc<Upstreams>| Rc::ptr_eq(one, &group);
        if !server.policy().groups.iter().any(is_in_force) {
            return;
        }
        group.compare();
        // A name server that does not answer takes away nothing that works.
        if group.resolve(&server.registry).await.is_ok() {
            attend_members(&group);
        }
    }
}

async fn tick(member: Weak<Member>) {
    loop {
        let Some(pause) = member.upgrade().map(|member| member.gate.turn()) else {
            return;
        };
        sleep(pause).await;
    }
}

async fn tidy(member: Weak<Member>) {
    loop {
        sleep(TIDY).await;
        let Some(member) = member.upgrade() else {
            return;
        };
        member.pool.tidy(member.gate.now());
    }
}

async fn check(member: Weak<Member>) {
    loop {
        let Some(wanted) = member.upgrade().map(|member| member.check.borrow().clone()) else {
            return;
        };
        let Some(wanted) = wanted else {
            sleep(UNCHECKED).await;
            continue;
        };
        if let Some(member) = member.upgrade() {
            let is_well = timeout(wanted.timeout, is_well(&member, &wanted)).await;
            let is_well = matches!(is_well, Ok(Ok(true)));
            // It may have been taken away meanwhile.
            if member.check.borrow().as_ref() == Some(&wanted) {
                member
                    .gate
                    .with_health(|health, now| health.checked(now, is_well));
            }
        }
        sleep(wanted.every).await;
    }
}

/// Whether it answers with 200 to 399, over a connection of its own: a kept one says nothing about new ones.
async fn is_well(member: &Member, check: &Check) -> io::Result<bool> {
    let mut stream = member.pool.open(check.timeout).await?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: plimsoll-guard\r\nConnection: close\r\n\r\n",
        check.path,
        member.pool.host()
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    while !answer.contains(&b'\n') && answer.len() < LINE_BYTES {
        if stream.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    Ok(status(&answer).is_some_and(|status| (200..400).contains(&status)))
}

fn status(answer: &[u8]) -> Option<u16> {
    let rest = answer.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
