"""The durable mix side by side: server CPU per operation, throughput and latency, by the official Node drivers."""

import json
import os
import statistics
import subprocess
import sys

import servers

IN_FLIGHT = 30
WARM_UP_OPERATIONS = 3_000
KINDS = ["read", "create", "update", "delete"]
# FerretDB's SQLite back end looks a document up by _id with a scan (its unique index is on another expression than its
# query), so its cost grows with the collection. It is judged where it is at its best, and shown once at full size.
STAGES = [
    {"preload": 100_000, "peers": ["plimsoll", "redis"], "bars": [("redis", 3.0)]},
    {"preload": 1_000, "peers": ["plimsoll", "ferretdb"], "bars": [("ferretdb", 0.1)],
     "why": " (FerretDB's SQLite back end scans the collection for an _id, so more documents would only slow it further)"},
]


def run(rounds=5, seconds=8, names=None):
    outcome = {"title": "40 % read, 30 % create, 20 % update, 10 % delete of 1 KB documents by _id, every write durable",
               "notes": [f"{rounds} rounds of {seconds} s each, alternated; {IN_FLIGHT} in flight."], "runs": {}, "bars": []}
    for stage in STAGES:
        wanted = [name for name in stage["peers"] if not names or name in names]
        present = {name: servers.Server(name) for name in wanted if servers.find(name)}
        try:
            runs = alternate(present, rounds, seconds, stage["preload"])
        finally:
            for server in present.values():
                server.remove()
        versions = {name: servers.version(name, server.path) for name, server in present.items()}
        outcome["notes"] += ["", f"{stage['preload']:,} documents before{stage.get('why', '')}:", "", *tables(runs, versions)]
        outcome["notes"] += [f"Not here: {name} ({servers.INSTALL[name]})." for name in wanted if name not in present]
        outcome["runs"][str(stage["preload"])] = runs
        outcome["bars"] += bars(runs, stage["bars"])
    return outcome


def alternate(present, rounds, seconds, preload):
    runs = {name: [] for name in present}
    order = list(present)
    for index in range(rounds if order else 0):
        for name in order[index % len(order):] + order[:index % len(order)]:
            runs[name].append(one_run(present[name], seconds, preload))
            print(f"  {name}: {line(runs[name][-1])}", file=sys.stderr)
    return runs


def one_run(server, seconds, preload):
    """Starts the server, lets the client run beside it, and takes the server's CPU time over exactly that time."""
    server.start()
    given = {"kind": "redis" if server.name == "redis" else "mongodb", "uri": server.uri, "seconds": seconds,
             "inFlight": IN_FLIGHT, "preload": preload, "warmUp": WARM_UP_OPERATIONS, **server.keys}
    client = subprocess.Popen(
        ["node", os.path.join(servers.HERE, "mix.mjs"), json.dumps(given)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {servers.CLIENT_CORE}))
    try:
        found = drive(client, server)
    finally:
        if client.poll() is None:
            client.kill()
        client.wait()
        server.stop()
    server.keys = {"head": found["head"], "tail": found["tail"]}
    found["cpu_us_per_operation"] = found["serverCpuSeconds"] / max(1, found["all"]["count"]) * 1e6
    return found


def drive(client, server):
    """Waits for the client's preload and warm-up, lets it go, and reads both sides' figures."""
    if "ready" not in client.stdout.readline():
        raise SystemExit(f"the client on {server.name} failed; the server's last words:\n{server.log_end()}")
    before = server.cpu_seconds()
    client.stdin.write("go\n")
    client.stdin.flush()
    found = json.loads(client.stdout.readline())
    found["serverCpuSeconds"] = server.cpu_seconds() - before
    found["memory"] = server.memory_mib()
    client.wait(timeout=20)
    return found


def line(found):
    every = found["all"]
    return (f"{found['cpu_us_per_operation']:.1f} us CPU per operation, {every['count'] / found['seconds']:,.0f}/s, "
            f"p95 {every['p95_ms']:.2f} ms, {found['failures']} failures {found['errors'] or ''}")


def median(list_, pick):
    return statistics.median(pick(one) for one in list_)


def tables(runs, versions):
    lines = ["| server | CPU us per operation | operations/s | p50 ms | p95 ms | p99 ms | core of server / client busy | failures | memory MiB | version |",
             "|---" * 10 + "|"]
    for name, list_ in runs.items():
        lines.append(
            f"| {name} | {median(list_, lambda r: r['cpu_us_per_operation']):.1f} "
            f"| {median(list_, lambda r: r['all']['count'] / r['seconds']):,.0f} "
            + "".join(f"| {median(list_, lambda r, p=p: r['all'][p]):.2f} " for p in ("p50_ms", "p95_ms", "p99_ms"))
            + f"| {median(list_, lambda r: r['serverCpuSeconds'] / r['seconds']) * 100:.0f} "
            + f"/ {median(list_, lambda r: r['clientCpuSeconds'] / r['seconds']) * 100:.0f} % | {sum(r['failures'] for r in list_)} | {list_[-1]['memory']['rss']:.0f} | {versions[name]} |")
    lines += ["", "| p50 / p95 / p99 in ms | " + " | ".join(KINDS) + " |", "|---" * 5 + "|"]
    for name, list_ in runs.items():
        cells = [" / ".join(f"{median(list_, lambda r, k=kind, p=p: r['kinds'][k][p]):.2f}" for p in ("p50_ms", "p95_ms", "p99_ms"))
                 for kind in KINDS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def bars(runs, limits):
    """Ratios within a round, so that what drifts slowly cancels."""
    judged = []
    for peer, limit in limits:
        if "plimsoll" not in runs or peer not in runs:
            continue
        ratios = [ours["cpu_us_per_operation"] / theirs["cpu_us_per_operation"]
                  for ours, theirs in zip(runs["plimsoll"], runs[peer])]
        found = statistics.median(ratios)
        judged.append({"what": f"server CPU per operation against {peer}", "unit": "×", "limit": limit, "found": found,
                       "lowest": min(ratios), "highest": max(ratios), "passed": found <= limit})
    return judged
