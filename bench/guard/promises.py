"""What the guard promises besides goodput, held against a real service: `make bench SECTION=guard-promises` (or -PART).

The service is the pool of live.py (eight places of 20 ms) on a core of its own; guards and generators share the other. Every part
begins with a guard that was just started. `python3 bench/guard/promises.py --help` lists the parts; all but `drift` and `calm` take
some six minutes with three rounds, those two half an hour and two minutes.
"""

import argparse
import json
import os
import re
import signal
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from proxies import OTHER_CORE, PROXY_CORE, peers, targets

import live
import results

PEAK = 400
# Seconds that a core may stand still in the part that promises something of a machine without pauses.
PAUSE = 0.1
SETTINGS = """
upstream = "http://127.0.0.1:{upstream}"
listen = "127.0.0.1:{port}"
admin = "127.0.0.1:{admin}"
class_header = "X-Class"
drain = "1ms"
[tenants]
header = "X-Tenant"
"""


class Guard(live.Process):
    """A guard with classes and tenants by header, and a page of metrics."""

    def __init__(self, upstream):
        port, self.admin = targets.free_port(), targets.free_port()
        folder = tempfile.mkdtemp(prefix="plimsoll-guard-promises-")
        path = os.path.join(folder, "guard.toml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(SETTINGS.format(upstream=upstream.port, port=port, admin=self.admin))
        super().__init__([peers.find("plimsoll"), "guard", "--config", path], PROXY_CORE, port, folder)

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=2) as page:
            text = page.read().decode()
        found = re.findall(rf"^plimsoll_guard_{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        return sum(float(number) for number in found)


class Load:
    """One kind of client: so many attempts a second, counted by outcome, and good ones second by second."""

    def __init__(self, proxy, rate, seconds, *headers, core=PROXY_CORE):
        self.folder = tempfile.mkdtemp(prefix="plimsoll-guard-promises-")
        self.record = os.path.join(self.folder, "run.plimsoll.jsonl")
        words = [word for header in headers for word in ("-H", header)]
        self.process = subprocess.Popen(
            [peers.find("plimsoll"), "run", proxy.url(), "-q", f"{rate:.1f}/s", "-z", f"{seconds:g}s", "--timeout", "1s",
             "--quiet", "--format", "json", "-o", self.record, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}))

    def summary(self):
        """The summary once it is over, with good answers second by second."""
        text, error = self.process.communicate()
        if not text.startswith("{"):
            raise SystemExit(error.strip())
        good = self.good_by_second()
        shutil.rmtree(self.folder, ignore_errors=True)
        return json.loads(text) | {"good_by_second": good}

    def good_by_second(self):
        good = []
        with open(self.record, encoding="utf-8") as source:
            for line in source:
                if line.startswith('{"kind":"window"'):
                    operations = json.loads(line)["operations"]
                    good.append(sum(one["classes"].get("ok", {}).get("count", 0) for one in operations))
        return good


def success(summary):
    return summary["outcomes"].get("ok", 0) / summary["attempts_count"]


def priority(asked):
    """1 % critical and 80 % background at ten times the peak."""
    with live.service("pool") as upstream, Guard(upstream) as proxy:
        loads = [Load(proxy, 10 * PEAK * share, asked.seconds, f"X-Class: {name}")
                 for name, share in (("critical", 0.01), ("default", 0.19), ("background", 0.8))]
        critical, _, _ = (load.summary() for load in loads)
    print(f"critical attempts: {critical['outcomes']}, good by second {critical['good_by_second']}", file=sys.stderr)
    return success(critical), "of the critical attempts, 1 % of ten times the peak beside 80 % background", 0.999


def fairness(asked):
    """A tenant at twenty times its share, nine at half of theirs."""
    share = PEAK / 10
    with live.service("pool") as upstream, Guard(upstream) as proxy:
        greedy = Load(proxy, 20 * share, asked.seconds, "X-Tenant: greedy")
        others = [Load(proxy, share / 2, asked.seconds, f"X-Tenant: small-{index}") for index in range(9)]
        greedy.summary()
        found = [success(load.summary()) for load in others]
    return min(found), "of the attempts of the worst of nine tenants at half their share, beside one at twenty times", 0.99


def pauses(asked):
    """Half the peak at a service that stands still for 200 ms every two seconds."""
    with live.service("pool") as upstream, Guard(upstream) as proxy:
        load = Load(proxy, PEAK / 2, asked.seconds)
        end = time.monotonic() + asked.seconds
        while time.monotonic() + 2 < end:
            time.sleep(1.8)
            stand_still(upstream, 0.2)
        summary = load.summary()
    shed = summary["outcomes"].get("shed", 0) / summary["attempts_count"]
    return 1 - shed, "of the attempts at half the peak not refused, with pauses of 200 ms every 2 s", 0.999


def standstill(_asked):
    """Four fifths of the peak at a service that stands still for three seconds."""
    with live.service("pool") as upstream, Guard(upstream) as proxy:
        load = Load(proxy, 0.8 * PEAK, 22)
        time.sleep(10)
        stand_still(upstream, 3)
        good = load.summary()["good_by_second"]
    print(f"good answers by second: {good}", file=sys.stderr)
    # The load began a moment after the clock of this script: two seconds later is surely after the end.
    return statistics.mean(good[15:20]) / (0.8 * PEAK), "of four fifths of the peak, from 2 to 7 s after a standstill of 3 s", 0.9


def halved(_asked):
    """Twice the peak at a service that loses half of its places after 10 s and has them back after 15 s more."""
    with live.service("pool") as upstream, Guard(upstream) as proxy:
        load = Load(proxy, 2 * PEAK, 42)
        for wait in (10, 15):
            time.sleep(wait)
            upstream.process.send_signal(signal.SIGUSR2)
        good = load.summary()["good_by_second"]
    print(f"good answers by second: {good}", file=sys.stderr)
    # A second for the start of the load, which is a moment after the clock of this script.
    share = min(statistics.mean(good[20:24]) / (PEAK / 2), statistics.mean(good[36:41]) / PEAK)
    return share, "of what can be done, from 10 s after half of the places went, and after they came back (the worse)", 0.9


class Pauses:
    """How long either core stood still at most, for the most urgent thread of the system: a pause of the machine, not of a process."""

    WATCH = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
longest = 0.0
while os.getppid() == int(sys.argv[2]):
    before = time.monotonic()
    time.sleep(0.005)
    late = time.monotonic() - before - 0.005
    if late > longest:
        longest = late
        print(longest, flush=True)
"""

    def __enter__(self):
        self.watchers = [subprocess.Popen([sys.executable, "-c", self.WATCH, str(core), str(os.getpid())], stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL, text=True) for core in (PROXY_CORE, OTHER_CORE)]
        return self

    def __exit__(self, *_):
        said = []
        for watcher in self.watchers:
            watcher.kill()
            said += watcher.communicate()[0].split()
        self.longest = max(map(float, said), default=None)


def calm(_asked):
    """A million requests at a service that is far from its limits, on a machine that makes no pauses: else up to twice again."""
    for _ in range(3):
        with targets.Nginx(OTHER_CORE) as upstream:
            upstream.port = upstream.plain
            with Guard(upstream) as proxy, Pauses() as pauses_made:
                summary = Load(proxy, 8000, 126, core=OTHER_CORE).summary()
        longest = pauses_made.longest
        paused = "may have paused, which could not be watched" if longest is None else f"paused for {1e3 * longest:.0f} ms at most"
        print(f"{summary['attempts_count']} attempts: {summary['outcomes']}; the machine {paused}", file=sys.stderr)
        if longest is None or longest < PAUSE:
            break
    what = f"of a million attempts not refused; the machine {paused}"
    return 1 - summary["outcomes"].get("shed", 0) / summary["attempts_count"], what, 1.0


def stand_still(upstream, seconds):
    upstream.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    upstream.process.send_signal(signal.SIGCONT)


def drift(asked):
    """Three times the peak for long: the limit, looked at every second without the first minute."""
    seconds = asked.minutes * 60
    levels = []
    with live.service("pool") as upstream, Guard(upstream) as proxy:
        load = Load(proxy, 3 * PEAK, seconds)
        looks = threading.Event()
        for second in range(int(seconds) - 2):
            looks.wait(1)
            if second >= 60:
                levels.append(proxy.metric("limit_level"))
        summary = load.summary()
    middle = statistics.median(levels)
    print(f"limit: median {middle:.1f}, from {min(levels):.1f} to {max(levels):.1f}; goodput {summary['goodput_per_s']:.0f}/s",
          file=sys.stderr)
    inside = sum(0.75 * middle <= level <= 1.25 * middle for level in levels) / len(levels)
    return inside, f"of {asked.minutes:g} minutes without the first, at three times the peak with the limit within a quarter of its median", 0.95


PARTS = {"priority": priority, "fairness": fairness, "pauses": pauses, "standstill": standstill, "halved": halved,
         "calm": calm, "drift": drift}
# Long ones are played once, and only if they are named.
LONG = ("calm", "drift")


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS) + " (default: all but " + " and ".join(LONG) + ")")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="length of a load")
    parser.add_argument("--minutes", type=float, default=30, help="length of the drift part, played once")
    asked = parser.parse_args(words)
    unknown = [part for part in asked.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]}; there are {', '.join(PARTS)}")
    if peers.find("plimsoll") is None:
        raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
    if shutil.which("node") is None:
        raise SystemExit("node is missing; install it")
    missed = 0
    # Long parts are played once, and each part has a section of its own, so that one played alone replaces no other.
    for part in asked.parts or [part for part in PARTS if part not in LONG]:
        played = [PARTS[part](asked) for _ in range(1 if part in LONG else asked.rounds)]
        shares = [share for share, _, _ in played]
        _, what, least = played[0]
        middle = statistics.median(shares)
        bar = {"what": "share", "unit": "", "limit": least, "found": middle, "lowest": min(shares), "highest": max(shares),
               "passed": middle >= least}
        print(f"{part}: {', '.join(f'{share:.4f}' for share in shares)} {what}", file=sys.stderr)
        outcome = {"title": f"{what}; the service is a pool of 8 places of 20 ms" if part != "calm" else what, "notes": [],
                   "bars": [bar]}
        results.save(f"guard-promises-{part}", outcome)
        print(results.section_text(f"guard-promises-{part}", outcome))
        missed += not bar["passed"]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
