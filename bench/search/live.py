"""Does a search find the same beside busy loops? `make bench SECTION=search-live`, or this file.

A real service that takes so many at a time, and needs a part of a core at its limit (it is measured), is searched alone and then beside
busy loops, one for each core. Nine of ten searches beside them must end with a rate that held, within 5 % of the middle one of those
that had the machine to themselves. Nearly an hour.
"""

import argparse
import math
import os
import signal
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), other) for other in ("causes", "generators")]

import peers  # noqa: E402
import results  # noqa: E402
import run as causes  # noqa: E402
import service as services  # noqa: E402
import table  # noqa: E402

WITHIN = 0.05
LEAST = 0.9
LIMIT_SECONDS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SECTION", help="search-live")
    parser.add_argument("--language", default="py", choices=("go", "js", "py", "rs"), help="of the service")
    parser.add_argument("--workers", type=int, default=60, help="requests that the service takes at a time")
    parser.add_argument("--milliseconds", type=int, default=80, help="how long each takes")
    parser.add_argument("--alone", type=int, default=3, help="searches with nothing beside them, at least one")
    parser.add_argument("--beside", type=int, default=10, help="searches beside busy loops, at least one")
    parser.add_argument("--busy", type=int, default=os.cpu_count(), help="busy loops")
    parser.add_argument("--time", default="5m", help="longest time of a search")
    parser.add_argument("--plimsoll", help="the program (default: target/release/plimsoll)")
    asked = parser.parse_args()
    if asked.names not in ([], ["search-live"]):
        parser.error(f"no section {asked.names[0]}; there is search-live")
    if min(asked.alone, asked.beside) < 1:
        parser.error("nothing can be compared without a search alone and one beside busy loops")
    asked.plimsoll = asked.plimsoll or peers.find("plimsoll")
    if asked.plimsoll is None:
        raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
    table.TABLE["live"] = table.workers(asked.language, asked.workers, asked.milliseconds)
    # Every process is ended on the way out: a polite end of ours must take that way too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    turns = [0] * asked.alone + [asked.busy] * asked.beside
    outcome = outcome_of(asked, [searched(asked, busy) for busy in turns])
    results.save("search-live", outcome)
    print(results.section_text("search-live", outcome))
    return 0 if outcome["bars"][0]["passed"] else 1


def searched(asked, busy):
    """One search of a fresh service, beside so many busy loops."""
    loops = [causes.busy_loop() for _ in range(busy)]
    try:
        with services.Service("live", asked.plimsoll) as service, tempfile.TemporaryDirectory(prefix="plimsoll-live-") as folder:
            cores = cores_at_limit(service, asked.workers)
            began = time.monotonic()
            found = causes.find(service, asked, os.path.join(folder, "search"))
            took = time.monotonic() - began
    finally:
        for loop in loops:
            loop.terminate()
            loop.wait()
    row = {"busy": busy, "cores": cores, "seconds": took, "verdict": found.get("verdict"), "valid": found.get("valid"),
           "capacity_per_s": (found.get("capacity_per_s") or {}).get("estimate"), "cause": (found.get("limit") or {}).get("cause")}
    print(f"beside {busy}: {cells(row)}", file=sys.stderr, flush=True)
    return row


def cores_at_limit(service, workers):
    """Processors that the service needs when it is always asked for more."""
    pid = service.processes[-1].pid
    before = used(pid)
    services.closed_loop(service.url, LIMIT_SECONDS, 2 * workers)
    return (used(pid) - before) / LIMIT_SECONDS


def used(pid):
    """Seconds on a processor of a process and its threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as source:
        user, system = source.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def bar(alone, beside):
    """What the searches beside busy loops are held against: a search that is not valid or came to no rate that held counts as far off."""
    found = [row["capacity_per_s"] for row in alone if row["valid"] and row["verdict"] == "pass"]
    middle = statistics.median(found) if found else math.inf
    near = sum(row["valid"] and row["verdict"] == "pass" and abs(row["capacity_per_s"] / middle - 1) <= WITHIN for row in beside)
    return {"what": f"held, and within {WITHIN:.0%} of the {middle:.1f}/s that are found alone", "unit": "of the searches", "limit": LEAST,
            "found": near / len(beside), "passed": near / len(beside) >= LEAST}


def cells(row):
    rate = f"{row['capacity_per_s']:.1f}/s" if row["capacity_per_s"] else "none"
    return f"{rate} | {row['verdict']} | {row['cause']} | {row['seconds']:.0f} s | {row['cores']:.2f}"


def outcome_of(asked, rows):
    alone, beside = rows[:asked.alone], rows[asked.alone:]
    notes = [f"Objective {table.OBJECTIVE}; at most {asked.time} for each search.", "",
             "| busy loops | capacity | verdict | cause | took | processors that the service needs at its limit |", "|---|---|---|---|---|---|"]
    notes += [f"| {row['busy']} | {cells(row)} |" for row in rows]
    title = (f"a service of {asked.workers} × {asked.milliseconds} ms in {asked.language}, at most "
             f"{asked.workers * 1e3 / asked.milliseconds:.0f}/s, searched alone and beside {asked.busy} busy loops")
    return {"title": title, "notes": notes, "bars": [bar(alone, beside)]}


if __name__ == "__main__":
    sys.exit(main())
