"""The capacity of a real single-threaded Node service against its service demand, three searches."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import urllib.request

import measure
import peers

RUNS = 3
SLO = "p99<250ms,errors<0.1%"
WITHIN = "12m"
# Processor time per request that the bar speaks of, and how often the service is made to fit.
DEMAND_MS = (2.0, 5.0)
CALIBRATIONS = 4
WARM_UP_REQUESTS = 3000


def run():
    path = peers.find("plimsoll")
    if path is None:
        raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
    if shutil.which("node") is None:
        raise SystemExit("node is missing; install it with: apt-get install nodejs")
    folder = tempfile.mkdtemp(prefix="plimsoll-search-")
    try:
        return judged(*searches(path, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def searches(path, folder):
    rounds, demand = 6, 0.0
    for _ in range(CALIBRATIONS):
        with Node(rounds) as node:
            demand = node.demand(path)
            if DEMAND_MS[0] <= demand * 1e3 <= DEMAND_MS[1]:
                return demand, [node.find(path, f"{folder}/{index}.plimsoll.jsonl")
                                for index in range(RUNS)], node.demand(path)
        rounds = max(1, round(rounds * 3.0e-3 / demand))
    raise SystemExit(f"the service costs {demand * 1e3:.2f} ms per request, wanted {DEMAND_MS}")


def judged(before, found, after):
    demand = statistics.mean([before, after])
    capacities = [one["capacity_per_s"]["lower"] for one in found]
    ratios = [capacity * demand for capacity in capacities]
    spread = max(capacities) / min(capacities) - 1
    # A gate that failed, as a busy host makes it, withholds the cause; the capacity was measured all the same.
    causes = [one.get("limit", {}).get("cause", "withheld, run not valid") for one in found]
    return {
        "title": f"find on a Node service of {demand * 1e3:.2f} ms per request, {SLO}, {WITHIN} each",
        "notes": [f"Demand before {before * 1e3:.3f} ms, after {after * 1e3:.3f} ms of main thread "
                  f"per request; 1/demand {1 / demand:.0f}/s.",
                  "Capacities " + ", ".join(f"{value:.0f}/s" for value in capacities)
                  + "; cause named: " + ", ".join(causes) + "."],
        "bars": [
            {"what": "lowest capacity over 1/demand", "unit": "× at least", "limit": 0.88,
             "found": min(ratios), "passed": min(ratios) >= 0.88},
            {"what": "highest capacity over 1/demand", "unit": "×", "limit": 1.02,
             "found": max(ratios), "passed": max(ratios) <= 1.02},
            {"what": "spread of the three capacities", "unit": "ratio", "limit": 0.07,
             "found": spread, "passed": spread <= 0.07},
        ],
    }


class Node:
    """The service in a process of its own on the target's core."""

    def __init__(self, rounds):
        script = os.path.join(os.path.dirname(__file__), "search.js")
        self.process = subprocess.Popen(
            ["node", script], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "ROUNDS": str(rounds)},
            preexec_fn=lambda: os.sched_setaffinity(0, {measure.TARGET_CORE}))
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}/"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def served(self):
        with urllib.request.urlopen(self.url + "served", timeout=10) as answer:
            return int(answer.read())

    def main_thread_seconds(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="utf-8") as source:
            return int(source.read().split()[0]) / 1e9

    def demand(self, path):
        """Main-thread seconds per request under a closed loop, by kernel and service, not by us."""
        self.load(path, WARM_UP_REQUESTS)
        seconds, served = self.main_thread_seconds(), self.served()
        self.load(path, WARM_UP_REQUESTS)
        return (self.main_thread_seconds() - seconds) / (self.served() - served)

    def load(self, path, count):
        call = [path, "run", self.url, "-c", "4", "-n", str(count), "--no-record", "--quiet"]
        subprocess.run(call, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       preexec_fn=lambda: os.sched_setaffinity(0, {measure.GENERATOR_CORE}))

    def find(self, path, record):
        call = [path, "find", self.url, "--slo", SLO, "--within", WITHIN, "--workers", "1",
                "-o", record, "--quiet", "--format", "json"]
        done = subprocess.run(
            call, check=False, capture_output=True, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {measure.GENERATOR_CORE}))
        summary = json.loads(done.stdout or "{}")
        if "lower" not in summary.get("capacity_per_s", {}):
            raise SystemExit(f"find ended with {done.returncode}: {done.stderr}{done.stdout[:2000]}")
        return summary
