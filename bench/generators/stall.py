"""A server that freezes 200 ms every 2 s, 1,000 uniform arrivals/s: is the whole stall shown?

By arithmetic 200 of every 2,000 arrivals fall into a freeze, one each millisecond, and wait for its
end: 5 % wait longer than 100 ms, 1 % longer than 180 ms, 0.1 % longer than 198 ms. That is response
time, on however many connections. Service time runs from the write: with 64 connections only the
first 64 arrivals of a freeze are written during it, so 3.2 % of all see more than 136 ms, p99 and
p99.9 agree with the response time, and p95 shows nothing of the stall.
"""

import json
import os
import subprocess
import time

import measure
import peers

SECONDS = int(os.environ.get("STALL_SECONDS", "60"))
CONNECTIONS = 64
TRUTH_MS = {"p95": 100.0, "p99": 180.0, "p99_9": 198.0}
TOLERANCE = 0.03
# What is left of an answer once the server is awake; far from both 0.1 and 100 ms.
AWAKE_MS_MAX = 20.0


def run():
    path = peers.find("plimsoll")
    if path is None:
        raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
    call = [path, "serve", "freeze", "--port", "0", "--cores", str(measure.TARGET_CORE)]
    server = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = server.stdout.readline().split()[-1]
        # The first freeze comes after 2 s; from then on any whole number of periods holds as many.
        time.sleep(3)
        summary = load(path, url)
    finally:
        server.terminate()
        server.wait()
    response = milliseconds(summary["response_time_ns"])
    service = milliseconds(summary["service_time_ns"])
    bars = [bar(f"response time {name}", response[name], truth)
            for name, truth in TRUTH_MS.items()]
    bars += [bar(f"service time {name}", service[name], TRUTH_MS[name])
             for name in ("p99", "p99_9")]
    bars.append({"what": "service time p95, which a stall must not reach on 64 connections",
                 "unit": "ms", "limit": AWAKE_MS_MAX, "found": service["p95"],
                 "passed": service["p95"] <= AWAKE_MS_MAX})
    return {
        "title": f"a server that freezes 200 ms every 2 s, 1,000/s uniform, {CONNECTIONS} "
                 f"connections, {SECONDS} s",
        "notes": ["| clock | p50 ms | p95 ms | p99 ms | p99.9 ms |", "|---|---|---|---|---|",
                  row("truth (response)", {"p50": 0.0} | TRUTH_MS), row("response", response),
                  row("service", service), "",
                  f"{summary['attempts_count']} attempts: "
                  + ", ".join(f"{count} {name}" for name, count in summary["outcomes"].items())],
        "bars": bars,
    }


def load(path, url):
    """The summary of one run, as JSON."""
    call = [path, "run", url, "-q", "1000/s", "--arrivals", "uniform", "-z", f"{SECONDS}s",
            "-c", str(CONNECTIONS), "--workers", "1", "--quiet", "--no-record", "--format", "json"]
    done = subprocess.run(
        call, stdout=subprocess.PIPE, check=False, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {measure.GENERATOR_CORE}))
    if not done.stdout.strip():
        raise SystemExit(f"plimsoll ended with {done.returncode} and printed nothing")
    return json.loads(done.stdout)


def milliseconds(times):
    """Quantiles in milliseconds; one that failures push out of sight is infinite."""
    return {name: value / 1e6 if isinstance(value, (int, float)) else finite(value)
            for name, value in times.items()}


def finite(value):
    inner = value.get("at") if isinstance(value, dict) else None
    return inner / 1e6 if inner is not None else float("inf")


def bar(what, found, truth):
    """Within 3 % of what arithmetic says; the limit is shown as the share it may be off."""
    off = abs(found / truth - 1)
    return {"what": f"{what} ({found:.1f} ms) off {truth:.0f} ms by", "unit": "", "limit": TOLERANCE,
            "found": off, "passed": off <= TOLERANCE}


def row(name, times):
    columns = " | ".join(f"{times[key]:.2f}" for key in ("p50", "p95", "p99", "p99_9"))
    return f"| {name} | {columns} |"
