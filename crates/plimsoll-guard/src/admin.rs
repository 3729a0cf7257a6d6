//! The admin endpoint: metrics for Prometheus, readiness and saturation for balancers, `explain` for people.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_net::h1::serving::RequestHead;
use serde_json::{Value, json};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::listener::Door;
use crate::metrics;
use crate::shared::Server;
use crate::wire::{Socket, Wire};

const PATIENCE: Duration = Duration::from_secs(5);
/// Holders of permits that are named.
const SHOWN: usize = 10;

pub(crate) async fn serve(listener: &Door, server: &Rc<Server>) {
    loop {
        match listener.accept().await {
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
            let is_ready = !server.is_stopping();
            let status = if is_ready {
                "200 OK"
            } else {
                "503 Service Unavailable"
            };
            let saturation = server.gate.look(|admission, _| admission.saturation());
            let body = json!({ "ready": is_ready, "saturation": saturation.round() });
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

/// Who holds the permits, and why there are so many.
fn explain(server: &Server) -> Value {
    let now = server.gate.now();
    server.gate.look(|admission, holders| {
        let mut routes: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
        let mut clients: BTreeMap<String, (u64, f64)> = BTreeMap::new();
        for holder in holders.values() {
            let seconds = (now - holder.since).as_secs_f64();
            let add = |entry: &mut (u64, f64)| {
                entry.0 += 1;
                entry.1 = entry.1.max(seconds);
            };
            add(routes.entry(&holder.route).or_default());
            add(clients.entry(holder.client.to_string()).or_default());
        }
        let level = admission.explain();
        let (client_timeout, upstream_timeout) = admission.timeouts();
        let warning = client_timeout
            .zip(upstream_timeout)
            .filter(|(client, upstream)| client <= upstream)
            .map(|(client, upstream)| {
                format!(
                    "clients give up after {client}, the service only after {upstream}: it works for nobody; \
                     give the service the shorter timeout"
                )
            });
        json!({
            "limit": admission.limit(),
            "limit_level": level.level,
            "slope": level.slope.map(|(slope, _)| slope),
            "slope_deviation": level.slope.map(|(_, deviation)| deviation),
            "probing": level.is_probing,
            "ramping": level.is_ramping,
            "in_flight_count": admission.in_flight(),
            "waiting_count": admission.waiting(),
            "saturation": admission.saturation().round(),
            "client_timeout_ns": client_timeout.map(|timeout| timeout.0),
            "upstream_timeout_ns": upstream_timeout.map(|timeout| timeout.0),
            "warning": warning,
            "permits_by_route": most(routes),
            "permits_by_client": most(clients),
        })
    })
}

fn most<K: Into<String>>(holders: BTreeMap<K, (u64, f64)>) -> Vec<Value> {
    let mut rows: Vec<(String, (u64, f64))> = holders
        .into_iter()
        .map(|(name, held)| (name.into(), held))
        .collect();
    rows.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let row = |(name, (count, seconds)): (String, (u64, f64))| json!({ "name": name, "count": count, "oldest_seconds": seconds });
    rows.into_iter().take(SHOWN).map(row).collect()
}
