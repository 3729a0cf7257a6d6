"""Does a search find the same beside busy loops? `make bench SECTION=search-live`, or this file.

A real service that takes so many at a time, and needs about a third of a core at its limit, is searched alone and then beside
busy loops, one for each core. Nine of ten searches beside them must end with a rate that held, within 5 % of the middle one of those
that had the machine to themselves. Nearly an hour; saved in bench/results/search-live-DATE.json and .md.
"""

import argparse
import datetime
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), other) for other in ("generators", "causes")]

import peers  # noqa: E402
import results  # noqa: E402
import run as causes  # noqa: E402
import service as services  # noqa: E402
import table  # noqa: E402

WITHIN = 0.05
LEAST = 0.9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SECTION", help="search-live")
    parser.add_argument("--language", default="py", help="of the service: go, js, py or rs")
    parser.add_argument("--workers", type=int, default=24, help="requests that the service takes at a time")
    parser.add_argument("--milliseconds", type=int, default=80, help="how long each takes")
    parser.add_argument("--alone", type=int, default=3, help="searches with nothing beside them")
    parser.add_argument("--beside", type=int, default=10, help="searches beside busy loops")
    parser.add_argument("--busy", type=int, default=os.cpu_count(), help="busy loops")
    parser.add_argument("--time", default="5m", help="longest time of a search")
    parser.add_argument("--plimsoll", help="the program (default: target/release/plimsoll)")
    asked = parser.parse_args()
    asked.plimsoll = asked.plimsoll or peers.find("plimsoll")
    if asked.plimsoll is None:
        raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
    table.TABLE["live"] = table.workers(asked.language, asked.workers, asked.milliseconds)
    # Every process is ended on the way out: a polite end of ours must take that way too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = []
    for busy, count in ((0, asked.alone), (asked.busy, asked.beside)):
        for _ in range(count):
            rows.append(searched(asked, busy))
            save(asked, rows)
    print(text_of(asked, rows))
    return 0 if bar(rows)["passed"] else 1


def searched(asked, busy):
    """One search of a fresh service, beside so many busy loops."""
    loops = [causes.busy_loop() for _ in range(busy)]
    try:
        with services.Service("live", asked.plimsoll) as service, tempfile.TemporaryDirectory(prefix="plimsoll-live-") as folder:
            before = used(service.processes[-1].pid)
            found = causes.find(service, asked, os.path.join(folder, "search"))
            spent = used(service.processes[-1].pid) - before
    finally:
        for loop in loops:
            loop.terminate()
            loop.wait()
    row = {"busy": busy, "service_cpu_seconds": spent,
           **{key: found.get(key) for key in ("verdict", "valid", "capacity_per_s", "duration_seconds", "headline")}}
    row["cause"] = (found.get("limit") or {}).get("cause")
    print(f"beside {busy}: {cells(row)}", file=sys.stderr, flush=True)
    return row


def used(pid):
    """Seconds on a processor of a process and its threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as source:
        user, system = source.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def capacity(row):
    return row["capacity_per_s"] if row["valid"] else None


def bar(rows):
    """What the searches beside busy loops are held against."""
    alone = [capacity(row) for row in rows if row["busy"] == 0 and capacity(row)]
    beside = [row for row in rows if row["busy"] > 0]
    middle = statistics.median(alone) if alone else 0
    near = [row for row in beside if capacity(row) and abs(capacity(row) / middle - 1) <= WITHIN] if middle else []
    share = len(near) / len(beside) if beside else 0
    return {"what": f"searches beside busy loops within {WITHIN:.0%} of the {middle:.1f}/s that they find alone", "unit": "of them",
            "limit": LEAST, "found": share, "lowest": share, "highest": share, "passed": share >= LEAST}


def cells(row):
    rate = f"{row['capacity_per_s']:.1f}/s" if row["capacity_per_s"] else "none"
    return (f"{rate} | {row['verdict']} | {row['cause']} | {row['duration_seconds'] or 0:.0f} s | "
            f"{row['service_cpu_seconds']:.1f} s")


def text_of(asked, rows):
    found = bar(rows)
    lines = [f"# A search beside busy loops, {datetime.date.today().isoformat()}", "",
             f"{asked.workers} at a time, {asked.milliseconds} ms each, in {asked.language}: at most "
             f"{asked.workers * 1e3 / asked.milliseconds:.0f}/s. Objective {table.OBJECTIVE}; at most {asked.time} for each search.", "",
             "| busy loops | capacity | verdict | cause | took | processor time of the service |", "|---|---|---|---|---|---|"]
    lines += [f"| {row['busy']} | {cells(row)} |" for row in rows]
    passed = "met" if found["passed"] else "missed"
    return "\n".join(lines + ["", f"{found['found']:.0%} {found['what']}: bar {LEAST:.0%}, {passed}.", ""])


def save(asked, rows):
    document = {"date": datetime.date.today().isoformat(), "machine": results.machine(), "rows": rows, "bar": bar(rows)}
    path = os.path.join(results.FOLDER, f"search-live-{document['date']}.json")
    results.write(path, document, text_of(asked, rows))


if __name__ == "__main__":
    sys.exit(main())
