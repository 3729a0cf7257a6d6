"""Measures what one call of a generator costs: its CPU time against what the server counted."""

import os
import statistics
import subprocess
import sys

import peers

GENERATOR_CORE = 0
TARGET_CORE = 1


def measure(call, target):
    """CPU seconds (user + system, children and start-up included) per million requests served."""
    before = target.requests()
    process = subprocess.Popen(
        call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, {GENERATOR_CORE}),
    )
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    served = target.requests() - before - 1
    # 3 is a gate of ours that failed, as it may on a busy machine: what a request costs is counted all the same.
    if process.returncode not in (0, 3) or served < 100:
        text = complaint.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"{call[0]} ended with {process.returncode} after {served} requests: "
                           + " / ".join(text[-3:]))
    seconds = usage.ru_utime + usage.ru_stime
    return {
        "cpu_seconds_per_million": seconds / served * 1e6,
        "cpu_user_seconds": usage.ru_utime,
        "cpu_system_seconds": usage.ru_stime,
        "requests_count": served,
    }


def alternate(section, target, rounds, seconds):
    """Every generator once per round; the order turns by one place each round."""
    present, missing = {}, {}
    for name in section["generators"]:
        path = peers.find(name)
        if path is None:
            missing[name] = peers.INSTALL[name]
        else:
            present[name] = path
    runs = {name: [] for name in present}
    names = list(present)
    for index in range(rounds):
        for name in names[index % len(names):] + names[:index % len(names)]:
            call = peers.command(name, present[name], target, seconds, section)
            try:
                runs[name].append(measure(call, target))
            except RuntimeError as error:
                if name == "plimsoll":
                    raise SystemExit(f"error: {error}") from error
                print(f"  {name} left out: {error}", file=sys.stderr)
                missing[name] = str(error)
                runs[name].append(None)
        print(f"  round {index + 1} of {rounds}", file=sys.stderr)
    complete = {name: list_ for name, list_ in runs.items() if all(list_)}
    return complete, missing, {name: peers.version(name, present[name]) for name in complete}


def median(runs, key="cpu_seconds_per_million"):
    return statistics.median(run[key] for run in runs)


def ratio(ours, theirs):
    """The median of the ratios of runs in the same round: what drifts slowly cancels."""
    pairs = [a["cpu_seconds_per_million"] / b["cpu_seconds_per_million"]
             for a, b in zip(ours, theirs)]
    return {"median": statistics.median(pairs), "lowest": min(pairs), "highest": max(pairs)}
