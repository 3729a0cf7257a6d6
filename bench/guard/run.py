"""What the guard costs beside nginx as the same proxy: `make bench SECTION=guard`, or this file with a section of its own.

`guard-live` (or `guard-live-KIND`) is goodput of real services instead, see live.py: a quarter of an hour for each round.
`guard-promises` (or `guard-promises-PART`) is what else is promised, see promises.py: six minutes."""

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time

from proxies import OTHER_CORE, Proxy, load, peers, targets

import live
import promises
import results

NAMES = ["guard", "nginx"]
IDLE_CONNECTIONS = 4000
RATE_SHARE = 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS) + " (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=6, help="length of one run, in slices of a second where two take turns")
    asked = parser.parse_args()
    lives = [name.removeprefix("guard-live").removeprefix("-") for name in asked.sections if name.startswith("guard-live")]
    if lives:
        return live.main([kind for kind in lives if kind])
    parts = [name.removeprefix("guard-promises").removeprefix("-") for name in asked.sections if name.startswith("guard-promises")]
    if parts:
        return promises.main([part for part in parts if part])
    wanted = [name for name in asked.sections if name != "guard"] or list(SECTIONS)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    missed = 0
    for name in wanted:
        print(f"{name}:", file=sys.stderr)
        outcome = SECTIONS[name](asked)
        results.save(name, outcome)
        print(results.section_text(name, outcome))
        missed += sum(not bar["passed"] for bar in outcome["bars"])
    return 1 if missed else 0


def bar(what, unit, limit, values):
    found = statistics.median(values)
    return {"what": what, "unit": unit, "limit": limit, "found": found, "lowest": min(values),
            "highest": max(values), "passed": found <= limit}


class Cost:
    """Processor time and answers of a proxy, over all slices of a round."""

    def __init__(self, proxy, connections, wants_refusals):
        self.proxy, self.connections, self.wants_refusals = proxy, connections, wants_refusals
        self.spent, self.answers, self.seconds = 0, 0, 0
        load(proxy.url(), connections, 1)

    def slice(self):
        before = self.proxy.cpu_seconds()
        answers, others = load(self.proxy.url(), self.connections, 1)
        self.spent += self.proxy.cpu_seconds() - before
        self.answers, self.seconds = self.answers + answers, self.seconds + 1
        counted = others if self.wants_refusals else answers - others
        if counted < 0.99 * answers:
            raise SystemExit(f"{self.proxy.name}: {others} of {answers} answers were no success")

    def figures(self):
        """Microseconds for each answer, and answers a second."""
        return self.spent / self.answers * 1e6, self.answers / self.seconds


def beside(asked, connections, upstream, limit=None):
    """Both, round after round: their costs and rates. They take turns of a second, because how fast a machine is that others
    share changes within a few."""
    rows = {name: [] for name in NAMES}
    for _ in range(asked.rounds):
        with contextlib.ExitStack() as stack:
            costs = []
            for name in NAMES:
                proxy = stack.enter_context(Proxy(name, upstream, limit))
                stack.enter_context(Held(proxy, 1 if limit else 0))
                costs.append(Cost(proxy, connections, limit is not None))
            for index in range(asked.seconds):
                for cost in costs if index % 2 == 0 else reversed(costs):
                    cost.slice()
            for name, cost in zip(NAMES, costs):
                rows[name].append(cost.figures())
    return rows


def notes(rows, what):
    median = {name: [statistics.median(column) for column in zip(*rows[name])] for name in NAMES}
    return [f"| proxy | CPU µs per {what} | {what}s/s |", "|---|---|---|"] + [
        f"| {name} | {median[name][0]:.1f} | {median[name][1]:,.0f} |" for name in NAMES]


def requests(connections):
    def run(asked):
        with targets.Nginx(OTHER_CORE) as upstream:
            rows = beside(asked, connections, f"127.0.0.1:{upstream.plain}")
        ratios = [own[0] / other[0] for own, other in zip(rows["guard"], rows["nginx"])]
        return {"title": f"CPU per request, {connections:,} connections, two-byte answer",
                "notes": notes(rows, "request"), "bars": [bar("ratio to nginx", "×", 1.0, ratios)]}
    return run


class Silent:
    """A service that takes requests and never answers."""

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.taken = []
        threading.Thread(target=self.take, daemon=True).start()
        return self

    def take(self):
        try:
            while True:
                self.taken.append(self.listener.accept()[0])
        except OSError:
            pass

    def __exit__(self, *_):
        self.listener.close()
        for taken in self.taken:
            taken.close()


class Held:
    """Requests that are under way as long as this lasts."""

    def __init__(self, proxy, count):
        self.proxy, self.count = proxy, count

    def __enter__(self):
        self.open = []
        for _ in range(self.count):
            stream = socket.create_connection(("127.0.0.1", self.proxy.port))
            stream.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            self.open.append(stream)
        time.sleep(0.2 if self.count else 0)

    def __exit__(self, *_):
        for stream in self.open:
            stream.close()


def refusals(asked):
    with Silent() as upstream:
        rows = beside(asked, 64, f"127.0.0.1:{upstream.port}", limit=1)
    own = [row[0] for row in rows["guard"]]
    ratios = [own[0] / other[0] for own, other in zip(rows["guard"], rows["nginx"])]
    return {"title": "CPU per refusal, 64 connections, the only place taken",
            "notes": notes(rows, "refusal"),
            "bars": [bar("guard", "µs", 20.0, own), bar("ratio to nginx's 503", "×", 1.0, ratios)]}


def idle_bytes(proxy):
    """Resident memory for each connection that has had an answer and asks for nothing."""
    streams = []
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    def ask(count):
        for _ in range(count):
            stream = socket.create_connection(("127.0.0.1", proxy.port))
            stream.sendall(request)
            stream.recv(4096)
            streams.append(stream)
    ask(200)
    before = proxy.resident_bytes()
    ask(IDLE_CONNECTIONS)
    after = proxy.resident_bytes()
    for stream in streams:
        stream.close()
    return (after - before) / IDLE_CONNECTIONS


def idle(asked):
    rows = {name: [] for name in NAMES}
    with targets.Nginx(OTHER_CORE) as upstream:
        for _ in range(min(asked.rounds, 3)):
            for name in NAMES:
                with Proxy(name, f"127.0.0.1:{upstream.plain}") as proxy:
                    rows[name].append(idle_bytes(proxy) / 1024)
    return {"title": f"resident memory per idle connection, {IDLE_CONNECTIONS:,} of them",
            "notes": [f"{name}: {statistics.median(rows[name]):.2f} KiB." for name in NAMES],
            "bars": [bar("guard", "KiB", 2.0, rows["guard"])]}


def median_ms(url, rate, seconds):
    path = peers.find("plimsoll")
    done = subprocess.run([path, "run", url, "-q", f"{rate:.0f}/s", "-z", f"{seconds}s", "-c", "64", "--format", "json"],
                          capture_output=True, text=True, check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, {OTHER_CORE}))
    if not done.stdout:
        raise SystemExit(f"{url}: {done.stderr.strip()}")
    return json.loads(done.stdout)["response_time_ns"]["p50"]["at"] / 1e6


def added(asked):
    rows = {name: [] for name in NAMES}
    with targets.Nginx(OTHER_CORE) as upstream:
        address = f"127.0.0.1:{upstream.plain}"
        with Proxy("guard", address) as proxy:
            answers, _ = load(proxy.url(), 64, asked.seconds)
        rate = RATE_SHARE * answers / asked.seconds
        for _ in range(asked.rounds):
            direct = median_ms(upstream.url(), rate, asked.seconds)
            for name in NAMES:
                with Proxy(name, address) as proxy:
                    rows[name].append(median_ms(proxy.url(), rate, asked.seconds) - direct)
    return {"title": f"what a proxy adds to the median response time at {rate:,.0f}/s, half of what the guard carries",
            "notes": [f"{name}: {statistics.median(rows[name]):.3f} ms." for name in NAMES],
            "bars": [bar("guard", "ms", 0.1, rows["guard"])]}


SECTIONS = {"guard-64": requests(64), "guard-1000": requests(1000), "guard-refusal": refusals, "guard-idle": idle,
            "guard-added": added}

if __name__ == "__main__":
    sys.exit(main())
