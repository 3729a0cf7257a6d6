#!/usr/bin/env python3
"""Runs of a generator that is stopped, starved or crowded, against services whose verdict is known: does any verdict change?

A run may end undecided (inconclusive, or invalid); what it must not do is say the opposite of undisturbed runs. PLIMSOLL names
the program. Saves nothing: the table on stdout is the result, one line for each run goes to stderr.
"""

import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("PLIMSOLL", os.path.join(ROOT, "target", "release", "plimsoll"))
VERDICTS = {0: "pass", 99: "fail", 5: "inconclusive", 3: "invalid"}
# How the service is started, and the objective of its runs: what an undisturbed run says is measured and not assumed.
SERVICES = {
    "quick": (["echo"], "p99<100ms,errors<1%"),
    "slower": (["downstream", "--set", "answer=40", "--set", "cpu=0.1"], "p99<100ms,errors<1%"),
    "too slow": (["downstream", "--set", "answer=120", "--set", "cpu=0.1"], "p99<100ms,errors<1%"),
    "stands still": (["stalls"], "p99<50ms,errors<1%"),
}
MODELS = {"open": ["-q", "300/s"], "closed": ["-c", "16"]}
STOP_SECONDS = (0.1, 0.4)
MANNERS = ["stopped 1 time", "stopped 2 times", "stopped 3 times", "stopped 4 times", "stopped 5 times",
           "beside three busy loops", "starved"]
UNDISTURBED_RUNS = 3
SPIN = "import os\np=os.getppid()\nwhile os.getppid()==p:\n for _ in range(1000000): pass"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--service", choices=SERVICES, help="this service alone")
    parser.add_argument("--manner", choices=MANNERS, help="this disturbance alone")
    asked = parser.parse_args()
    services = [asked.service] if asked.service else list(SERVICES)
    manners = [asked.manner] if asked.manner else MANNERS
    draw = random.Random(asked.seed)
    served = {name: Served(SERVICES[name][0]) for name in services}
    try:
        truth = {(name, model): undisturbed(served[name], name, model, asked.seconds) for name in services for model in MODELS}
        counts = collections.Counter()
        for index in range(asked.runs):
            name, model = services[index % len(services)], draw.choice(list(MODELS))
            manner = manners[index // len(services) % len(manners)]
            verdict, why = play(served[name].url, name, model, asked.seconds, manner, draw)
            print(f"{index}: {name}, {model}, {manner}: {truth[name, model]}, {verdict}: {why}", file=sys.stderr, flush=True)
            counts[manner, model, truth[name, model], verdict] += 1
    finally:
        for service in served.values():
            service.end()
    return shown(counts)


class Served:
    """An embedded service that runs until `end`."""

    def __init__(self, call):
        self.process = subprocess.Popen([PROGRAM, "serve", *call, "--port", "0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def end(self):
        self.process.terminate()
        self.process.wait()


def undisturbed(served, name, model, seconds):
    """What most of a few runs say; the machine may have other guests."""
    said = [play(served.url, name, model, seconds, "", None)[0] for _ in range(UNDISTURBED_RUNS)]
    print(f"undisturbed: {name}, {model}: {', '.join(said)}", file=sys.stderr, flush=True)
    return collections.Counter(said).most_common(1)[0][0]


def play(url, name, model, seconds, manner, draw):
    """The verdict of one run, and in a few words what it rests on."""
    call = [PROGRAM, "run", url, "-z", f"{seconds:g}s", *MODELS[model], "--slo", SERVICES[name][1], "--no-record", "--quiet",
            "--format", "json"]
    loops = []
    if manner == "beside three busy loops":
        loops = [spinning(None) for _ in range(3)]
    elif manner == "starved":
        loops = [spinning({0}) for _ in range(2)]
    run = subprocess.Popen(call, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL, start_new_session=True,
                           preexec_fn=(lambda: os.sched_setaffinity(0, {0})) if manner == "starved" else None)
    if manner.startswith("stopped"):
        stop(run, seconds, int(manner.split()[1]), draw)
    said, _ = run.communicate()
    for loop in loops:
        loop.kill()
        loop.wait()
    return VERDICTS.get(run.returncode, f"exit code {run.returncode}"), rests_on(said)


def rests_on(said):
    if not said.strip():
        return "no summary"
    summary = json.loads(said)
    parts = [f"{summary['attempts_count']} attempts, load average {os.getloadavg()[0]:.1f}"]
    parts += [f"{one['clause']} {one['judgement']}, {one['measured']}, turned {one.get('turned_count', 0)}, "
              f"left out {one.get('left_out_count', 0)}" for one in summary["objectives"]]
    parts += [f"gate {gate['number']} {gate['state']}" for gate in summary["gates"] if gate["state"] in ("fail", "warning")]
    return "; ".join(parts)


def spinning(cores):
    return subprocess.Popen([sys.executable, "-c", SPIN],
                            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None)


def stop(run, seconds, times, draw):
    """Stops the generator so often within its run, for a drawn time each."""
    start = time.monotonic()
    for at in sorted(draw.uniform(0.3, seconds - 0.5) for _ in range(times)):
        threading.Event().wait(max(0.0, start + at - time.monotonic()))
        if run.poll() is None:
            os.kill(run.pid, signal.SIGSTOP)
            time.sleep(draw.uniform(*STOP_SECONDS))
            os.kill(run.pid, signal.SIGCONT)


def shown(counts):
    print("| the generator | load | undisturbed | " + " | ".join(VERDICTS.values()) + " | other |\n|---|---|---" + "|---:" * 5 + "|")
    rows = sorted({key[:3] for key in counts})
    known = list(VERDICTS.values())
    for row in rows:
        found = {key[3]: count for key, count in counts.items() if key[:3] == row}
        cells = [found.get(verdict, 0) for verdict in known]
        print("| " + " | ".join(row) + " | " + " | ".join(map(str, [*cells, sum(found.values()) - sum(cells)])) + " |")
    wrong = sum(count for key, count in counts.items() if {key[2], key[3]} == {"pass", "fail"})
    passes = sum(count for key, count in counts.items() if key[2] == "pass")
    still = sum(count for key, count in counts.items() if key[2] == key[3] == "pass")
    print(f"\n{wrong} of {sum(counts.values())} verdicts contradict the undisturbed ones (bar 0). "
          f"{still} of {passes} undisturbed passes still pass ({still / max(passes, 1):.0%}, bar 80 %).")
    return 1 if wrong or still < 0.8 * passes else 0


if __name__ == "__main__":
    sys.exit(main())
