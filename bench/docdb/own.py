"""DocDB against itself: more databases, more workers, a noisy neighbour, a slow disk, a million documents, a kill.

The load comes from docdb/examples/load.rs, which speaks the wire protocol directly: one core of the official
Node driver cannot fill the server.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

import servers

DRIVER = os.path.join(servers.ROOT, "target", "release", "examples", "load")
WRITERS = 30
SLOW_FSYNC_MS = 5
MEMORY_DOCUMENTS = 1_000_000
TOTAL_DOCUMENTS = 100_000


def driver():
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "-p", "plimsoll-docdb", "--example", "load"],
                   cwd=servers.ROOT, check=True)
    return DRIVER


def drive(server, **options):
    """One run of the load driver beside a server; what it measured, with the server's CPU time."""
    call = [DRIVER, f"127.0.0.1:{server.port}", *(f"{name}={value}" for name, value in options.items())]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, {servers.CLIENT_CORE})) as client:
        if "ready" not in client.stdout.readline():
            raise SystemExit(f"the load driver failed; the server's last words:\n{server.log_end()}")
        before, client_before = server.cpu_seconds(), servers.cpu_of(client.pid)
        client.stdin.write("go\n")
        client.stdin.flush()
        # The last look at the client must come before it has ended.
        time.sleep(options["seconds"] - 0.1)
        client_cpu = servers.cpu_of(client.pid) - client_before
        found = json.loads(client.stdout.readline())
        found["serverCpuSeconds"] = server.cpu_seconds() - before
        found["client_busy"] = client_cpu / max(0.1, options["seconds"] - 0.1)
        found["server_busy"] = found["serverCpuSeconds"] / found["seconds"]
    rows = found["databases"]
    found["operations"] = sum(row["operations"] for row in rows)
    found["failures"] = sum(row["failures"] for row in rows)
    found["per_second"] = found["operations"] / found["seconds"]
    found["slowest_over_fastest"] = min(r["operations"] for r in rows) / max(1, max(r["operations"] for r in rows))
    return found


def fresh(more=(), **options):
    with servers.Server("plimsoll", more) as server:
        return drive(server, **options)


def alternate(cases, rounds, **options):
    """Every case once per round, each on a new server; the order turns."""
    driver()
    runs = {name: [] for name in cases}
    names = list(cases)
    for index in range(rounds):
        for name in names[index % len(names):] + names[:index % len(names)]:
            runs[name].append(fresh(**{**options, **cases[name]}))
            found = runs[name][-1]
            print(f"  {name}: {found['per_second']:,.0f}/s, {found['failures']} failures", file=sys.stderr)
    return runs


def row(name, list_):
    middle = lambda pick: statistics.median(pick(run) for run in list_)  # noqa: E731
    return (f"| {name} | {middle(lambda r: r['per_second']):,.0f} | {middle(lambda r: max(d['p99_ms'] for d in r['databases'])):.2f} "
            f"| {middle(lambda r: r['slowest_over_fastest']):.3f} | {middle(lambda r: r['serverCpuSeconds'] / max(1, r['operations']) * 1e6):.1f} "
            f"| {middle(lambda r: r['server_busy']) * 100:.0f} / {middle(lambda r: r['client_busy']) * 100:.0f} % "
            f"| {sum(r['failures'] for r in list_)} |")


HEADER = ["| case | operations/s | worst p99 ms | slowest / fastest database | CPU us per operation | core of server / client busy | failures |",
          "|---" * 7 + "|"]


def against(runs, base, name, pick=lambda run: run["per_second"]):
    ratios = [pick(one) / pick(two) for one, two in zip(runs[name], runs[base])]
    return {"found": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios)}


def at_least(what, limit, found, unit="× at least"):
    return {"what": what, "unit": unit, "limit": limit, **found, "passed": found["found"] >= limit}


def databases(rounds=5, seconds=5):
    """The same number in flight over one database and over 3, 7 and 20; about 30, so that it divides evenly."""
    cases, bars, spread = {}, [], (("3", 10), ("7", 4), ("20", 2))
    for n, each in spread:
        cases[f"1 database, {int(n) * each} in flight"] = {"databases": 1, "workers": int(n) * each, "preload": TOTAL_DOCUMENTS}
        cases[f"{n} databases, {int(n) * each} in flight"] = {"databases": int(n), "workers": each, "preload": TOTAL_DOCUMENTS // int(n)}
    runs = alternate(cases, rounds, seconds=seconds)
    for one, many in zip(list(cases)[::2], list(cases)[1::2]):
        bars.append(at_least(f"throughput of {many} against one database", 0.95, against(runs, one, many)))
        shares = [run["slowest_over_fastest"] for run in runs[many]]
        bars.append(at_least(f"slowest of {many} over the fastest", 0.9,
                             {"found": statistics.median(shares), "lowest": min(shares), "highest": max(shares)}))
    notes = [f"{rounds} rounds of {seconds} s.", "", *HEADER, *(row(name, runs[name]) for name in runs)]
    return {"title": "equal in-flight over 1, 3, 7 and 20 databases", "notes": notes, "runs": runs, "bars": bars}


def workers(rounds=3, seconds=5):
    """Ten workers in each of 1 to 20 databases."""
    cases = {f"{n} databases": {"databases": n, "workers": 10, "preload": TOTAL_DOCUMENTS // n} for n in (1, 2, 5, 10, 20)}
    runs = alternate(cases, rounds, seconds=seconds)
    bars = [at_least(f"throughput of {name} against 1", 1.0, against(runs, "1 databases", name)) for name in list(cases)[1:]]
    notes = [f"{rounds} rounds of {seconds} s.", "", *HEADER, *(row(name, runs[name]) for name in runs)]
    return {"title": "ten workers in each of 1 to 20 databases", "notes": notes, "runs": runs, "bars": bars}


def noisy(rounds=5, seconds=5):
    """Six databases at a steady rate beside a seventh at the same rate, then at twenty times it."""
    driver()
    capacity = fresh(seconds=seconds, databases=7, workers=4, preload=TOTAL_DOCUMENTS // 7)["per_second"]
    # At twenty times, the noisy one and its six neighbours together ask for half of what the server can do.
    rate = max(1, round(capacity * 0.5 / 26))
    common = {"databases": 7, "workers": 8, "preload": TOTAL_DOCUMENTS // 7, "rate": rate}
    runs = alternate({"all equal": common, "one at 20 x": {**common, "noisy": 20}}, rounds, seconds=seconds)

    def others(run):
        return statistics.mean(one["p99_ms"] for one in run["databases"][1:])

    found = against(runs, "all equal", "one at 20 x", others)
    bar = {"what": "p99 of the other databases against all equal", "unit": "×", "limit": 1.1, **found, "passed": found["found"] <= 1.1}
    p99s = ", ".join(f"{name} {statistics.median(others(run) for run in list_):.3f} ms" for name, list_ in runs.items())
    notes = [f"{rounds} rounds of {seconds} s, open loop, {rate}/s for each database (capacity {capacity:,.0f}/s).",
             f"Mean p99 of the six others, from the time each operation was due: {p99s}.", "", *HEADER, *(row(name, runs[name]) for name in runs)]
    return {"title": "one database at 20 times the load of six others", "notes": notes, "runs": runs, "bars": [bar]}


def commit(rounds=3, seconds=5):
    """Thirty writers on a disk whose fsync takes 5 ms longer."""
    driver()
    more = ["--slow-fsync", f"{SLOW_FSYNC_MS}ms"]
    list_ = [fresh(more, seconds=seconds, workers=WRITERS, preload=1_000, mix="insert") for _ in range(rounds)]
    ideal = WRITERS / (SLOW_FSYNC_MS / 1e3)
    shares = [run["per_second"] / ideal for run in list_]
    bar = at_least(f"of {ideal:,.0f}/s, {WRITERS} writes every {SLOW_FSYNC_MS} ms", 0.45,
                   {"found": statistics.median(shares), "lowest": min(shares), "highest": max(shares)})
    return {"title": f"group commit: {WRITERS} writers, every fsync {SLOW_FSYNC_MS} ms longer",
            "notes": [f"{rounds} rounds of {seconds} s.", "", *HEADER, row("inserts", list_)], "runs": {"inserts": list_}, "bars": [bar]}


def memory():
    """A million documents of 1 KB: memory, disk, and the time to open after a kill."""
    driver()
    with servers.Server("plimsoll") as server:
        empty = server.memory_mib()
        begun = time.monotonic()
        drive(server, seconds=1, workers=1, preload=MEMORY_DOCUMENTS)
        took = time.monotonic() - begun
        loaded, disk = server.memory_mib(), server.disk_mib()
        drive_reads = count(server)
        server.stop(signal.SIGKILL)
        listening = server.start()
        begun = time.monotonic()
        answered = count(server)
        opened = listening + time.monotonic() - begun
        again = server.memory_mib()
    notes = [
        f"Memory (RSS): empty {empty['rss']:.0f} MiB, with {MEMORY_DOCUMENTS:,} documents {loaded['rss']:.0f} MiB, after kill -9 and opening "
        f"{again['rss']:.0f} MiB. Disk {disk:.0f} MiB. Loading took {took:.1f} s.",
        f"After kill -9 it listens within {listening:.3f} s and has answered a first command within {opened:.3f} s; "
        f"documents before {drive_reads:,}, after {answered:,}.",
    ]
    return {"title": f"{MEMORY_DOCUMENTS:,} documents of 1 KB", "notes": notes, "bars": [
        {"what": "documents lost by the kill", "unit": "documents", "limit": 0, "found": float(drive_reads - answered), "passed": drive_reads == answered}]}


def count(server):
    """The count of the loaded collection, asked in the wire protocol by hand (int32 and UTF-8 of BSON)."""
    field = lambda kind, name, value: bytes([kind]) + name.encode() + b"\0" + value  # noqa: E731
    text = lambda value: (len(value) + 1).to_bytes(4, "little") + value.encode() + b"\0"  # noqa: E731
    inner = field(2, "count", text("documents")) + field(2, "$db", text("bench0")) + b"\0"
    body = (len(inner) + 4).to_bytes(4, "little") + inner
    message = (21 + len(body)).to_bytes(4, "little") + b"\1\0\0\0" + b"\0\0\0\0" + (2013).to_bytes(4, "little") + b"\0" * 5 + body
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(message)
        answer = b""
        while len(answer) < 4 or len(answer) < int.from_bytes(answer[:4], "little"):
            answer += connection.recv(65536)
    at = answer.index(b"\x10n\0") + 3
    return int.from_bytes(answer[at:at + 4], "little")
