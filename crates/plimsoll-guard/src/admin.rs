//! The admin endpoint: metrics for Prometheus, readiness and saturation for balancers, `explain` for people.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_control::balance::{Health, Out};
use plimsoll_core::Nanos;
use plimsoll_net::h1::serving::RequestHead;
use serde_json::{Value, json};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::gate::{Holder, Holders};
use crate::listener::Entry;
use crate::metrics;
use crate::shared::Server;
use crate::upstreams::{Member, Upstreams};
use crate::wire::{Socket, Wire};

const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take to find out whether an upstream is there.
const LOOK: Duration = Duration::from_millis(500);
/// Holders of permits that are named.
const SHOWN: usize = 10;

pub(crate) async fn serve(entry: &Entry, server: &Rc<Server>) {
    loop {
        match entry.accept().await {
            Ok((socket, _)) => {
                let server = Rc::clone(server);
                spawn_local(async move {
                    // Whoever is slower than that asks again.
                    drop(timeout(PATIENCE, answer(socket, &server)).await);
                });
            }
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn answer(socket: Socket, server: &Server) {
    let mut client = Client::new(Wire::Plain(socket));
    let path = loop {
        match RequestHead::read(&client.inbox) {
            Ok(Some(head)) => {
                let path = head.target.split('?').next().unwrap_or_default();
                break path.to_owned();
            }
            Ok(None) => {}
            Err(_) => return,
        }
        if !matches!(client.more().await, Ok(true)) {
            return;
        }
    };
    if path == "/ready" {
        look(server).await;
    }
    let (status, media, body) = page(&path, server);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if client
        .write(format!("{head}{body}").as_bytes())
        .await
        .is_ok()
    {
        client.part().await;
    }
}

fn page(path: &str, server: &Server) -> (&'static str, &'static str, String) {
    const JSON: &str = "application/json";
    match path {
        "/metrics" => ("200 OK", metrics::MEDIA, metrics::text(server)),
        "/ready" => {
            let is_ready = is_ready(server);
            let status = if is_ready {
                "200 OK"
            } else {
                "503 Service Unavailable"
            };
            let body = json!({ "ready": is_ready, "saturation": saturation(server).round() });
            (status, JSON, format!("{body}\n"))
        }
        "/explain" => ("200 OK", JSON, format!("{:#}\n", explain(server))),
        _ => (
            "404 Not Found",
            "text/plain; charset=utf-8",
            "/metrics, /ready or /explain\n".to_owned(),
        ),
    }
}

/// It goes on, and there is somebody behind it, as far as is known. Overload is no reason to say no: if all guards did at once,
/// nobody would be served.
fn is_ready(server: &Server) -> bool {
    let is_gone = |member: &Rc<Member>| {
        member.pool.is_there() == Some(false)
            || member.gate.with_health(Health::out) == Some(Out::Unwell)
    };
    !server.is_stopping() && !server.members().iter().all(is_gone)
}

/// Before the first request, and where all that could be reached are gone, nobody tries to: it is tried to find out. One that
/// was reached the last time is enough.
async fn look(server: &Server) {
    let members = server.members();
    if members.iter().any(|one| one.pool.is_there() == Some(true)) {
        return;
    }
    let looks = members.into_iter().map(|member| {
        // It is closed again at once.
        spawn_local(async move { drop(member.pool.open(LOOK).await) })
    });
    for look in looks.collect::<Vec<_>>() {
        drop(look.await);
    }
}

/// Of the upstreams that are used, on the average; of all if none is.
fn saturation(server: &Server) -> f64 {
    let members = server.members();
    let is_in = |member: &&Rc<Member>| member.gate.with_health(Health::out).is_none();
    let mut used: Vec<&Rc<Member>> = members.iter().filter(is_in).collect();
    if used.is_empty() {
        used = members.iter().collect();
    }
    let of = |member: &&Rc<Member>| member.gate.look(|admission, _| admission.saturation());
    used.iter().map(of).sum::<f64>() / used.len().max(1) as f64
}

/// Who holds the permits, and why there are so many.
fn explain(server: &Server) -> Value {
    let policy = server.policy();
    let group = |group: &Rc<Upstreams>| {
        let members = group.members();
        json!({
            "name": group.config.name,
            "balance": group.config.balance.name(),
            "upstreams": members.iter().map(|member| upstream(member)).collect::<Vec<_>>(),
        })
    };
    json!({
        "ready": is_ready(server),
        "shadow": policy.config.shadow,
        "saturation": saturation(server).round(),
        "connections_count": server.open_connections(),
        "groups": policy.groups.iter().map(group).collect::<Vec<_>>(),
    })
}

fn upstream(member: &Member) -> Value {
    let (out, weight, ejected) = member.gate.with_health(|health, now| {
        (
            health.out(now).map(Out::name),
            health.weight(now),
            health.ejected(),
        )
    });
    let now = member.gate.now();
    let passed = member.gate.passed();
    member.gate.look(|admission, holders| {
        let level = admission.explain();
        let counts = admission.counts();
        let (client_timeout, upstream_timeout) = admission.timeouts(now);
        json!({
            "name": member.name,
            "limit": admission.limit(),
            "limit_level": level.level,
            "slope": level.slope.map(|(slope, _)| slope),
            "slope_deviation": level.slope.map(|(_, deviation)| deviation),
            "probing": level.is_probing,
            "ramping": level.is_ramping,
            "in_flight_count": admission.in_flight(),
            "waiting_count": admission.waiting(),
            "saturation": admission.saturation().round(),
            "admitted_count": counts.admitted,
            "refused_count": counts.refused(),
            "shadow_passed_count": passed,
            "out": out,
            "weight": weight,
            "ejected_count": ejected,
            "client_timeout_ns": client_timeout.map(|timeout| timeout.0),
            "upstream_timeout_ns": upstream_timeout.map(|timeout| timeout.0),
            "warning": warning(client_timeout, upstream_timeout),
            "permits_by_route": most(now, holders, |holder| holder.route.clone()),
            "permits_by_tenant": most(now, holders, |holder| {
                holder.tenant.clone().unwrap_or_else(|| holder.client.to_string())
            }),
        })
    })
}

fn warning(client: Option<Nanos>, upstream: Option<Nanos>) -> Option<String> {
    let (client, upstream) = client.zip(upstream)?;
    (client <= upstream).then(|| {
        format!(
            "clients give up after {client}, the service only after {upstream}: it works for nobody; give the service \
             the shorter timeout"
        )
    })
}

/// Those who hold most permits, with how long the oldest of each has been held.
fn most(now: Nanos, holders: &Holders, name: impl Fn(&Holder) -> String) -> Vec<Value> {
    let mut names: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for holder in holders.values() {
        let entry = names.entry(name(holder)).or_default();
        entry.0 += 1;
        entry.1 = entry.1.max((now - holder.since).as_secs_f64());
    }
    let mut rows: Vec<(String, (u64, f64))> = names.into_iter().collect();
    rows.sort_by_key(|(_, (count, _))| Reverse(*count));
    let row = |(name, (count, seconds)): (String, (u64, f64))| json!({ "name": name, "count": count, "oldest_seconds": seconds });
    rows.into_iter().take(SHOWN).map(row).collect()
}
