"""How far off, how sure and how silent are searches of simulated services? `make bench SECTION=search-worlds`, or this file.

Each service is searched with many seeds on a virtual clock; its capacity is the rate that meets the objective for half an
hour. Seeds from 90000 on are never used while rules are changed. Saved in bench/results/search-DATE.json and .md.
"""

import argparse
import datetime
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "generators"))

import peers  # noqa: E402
import results  # noqa: E402

PROGRAM = os.path.join(peers.ROOT, "target", "release", "examples", "worlds")
COLUMNS = ("truth_per_s", "signed", "error", "high", "low", "held", "said", "unwatched", "seconds")
# What is asked of each service: steady ones are to be found and held; those to which something happens are to be found;
# hidden conditions are not to be passed; of hopeless objectives it is to be said that no rate meets them.
STEADY = ("exp single two-tiers p999 many heavy pareto2.2 fail0.02 mixed pool collector lock "
          "errors-only quick event-loop uneven3 uneven5").split()
DISTURBED = ("warming step-down pause-search pause-hold slow slow-many tiny scale-out retry retry-slow bucket").split()
HIDDEN = "pareto1.5 gc gc-rare cron60 cron180 ar1 sine600 credits leak cold visits swing40".split()
HOPELESS = "fail0.2 always-late".split()
GROUPS = {"steady": STEADY, "disturbed": DISTURBED, "hidden": HIDDEN, "hopeless": HOPELESS}


def main():
    if "search-live" in sys.argv[1:]:
        os.execv(sys.executable, [sys.executable, os.path.join(HERE, "live.py"), *sys.argv[1:]])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="services (default: all of them)")
    parser.add_argument("--first", type=int, default=90_000, help="first seed")
    parser.add_argument("--count", type=int, default=100, help="searches of each service")
    parser.add_argument("--minutes", type=int, choices=(5, 12), help="time of a search (default: five, then twelve for hidden conditions)")
    asked = parser.parse_args()
    every = [name for names in GROUPS.values() for name in names]
    names = [name for name in asked.names if name != "search-worlds"] or every
    unknown = [name for name in names if name not in every]
    if unknown:
        parser.error(f"no service {unknown[0]}; there are {', '.join(every)}")
    if not os.path.exists(PROGRAM):
        raise SystemExit("the simulator is missing; build it with: cargo build --release -p plimsoll-sim --example worlds")
    for minutes, chosen in ((5, names), (12, [name for name in names if name in HIDDEN])):
        for name in chosen if asked.minutes in (None, minutes) else []:
            save(asked, minutes, searched(name, minutes, asked))


def searched(name, minutes, asked):
    """All searches of one service: shares in per cent, errors of the capacity in per cent of the truth."""
    command = [PROGRAM, name, str(minutes), str(asked.first), str(asked.count)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    words = out[-1].split()
    if words[0] != name or len(words) != len(COLUMNS) + 1:
        raise SystemExit(f"{' '.join(command)} printed: {out[-1]}")
    figures = {key: float(word) for key, word in zip(COLUMNS, words[1:])}
    row = {"service": name, "group": group_of(name), **{key: finite(value) for key, value in figures.items()}}
    row["missed"] = missed(row, minutes)
    print(cells(row), flush=True)
    return row


def finite(value):
    return value if math.isfinite(value) and abs(value) < 1e5 else None


def group_of(name):
    return next(group for group, names in GROUPS.items() if name in names)


def missed(row, minutes):
    """The bars that a row misses."""
    group = row["group"]
    if group == "hidden":
        high = 10 if minutes < 12 else 5
        checks = [("high", row["high"] <= high), ("unwatched", row["unwatched"] == 0)]
    elif group == "hopeless":
        checks = [("said", row["said"] >= 95), ("held", row["held"] == 0), ("seconds", row["seconds"] <= 60)]
    else:
        error = row["error"] if row["error"] is not None else math.inf
        checks = [("error", error <= 2.5), ("high", row["high"] <= 2), ("low", row["low"] <= 5),
                  ("held", group == "disturbed" or row["held"] >= 80)]
    return [what for what, met in checks if not met]


def save(asked, minutes, row):
    """Adds a row to today's file, or replaces the one of the same service, time and seeds."""
    day = datetime.date.today().isoformat()
    os.makedirs(results.FOLDER, exist_ok=True)
    path = os.path.join(results.FOLDER, f"search-{day}.json")
    document = {"date": day, "parts": []}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as source:
            document = json.load(source)
    key = {"minutes": minutes, "first_seed": asked.first, "count": asked.count}
    part = next((part for part in document["parts"] if all(part[name] == value for name, value in key.items())), None)
    if part is None:
        part = {**key, "rows": []}
        document["parts"].append(part)
    order = [name for names in GROUPS.values() for name in names]
    rows = [other for other in part["rows"] if other["service"] != row["service"]] + [row]
    part["rows"] = sorted(rows, key=lambda row: order.index(row["service"]))
    results.write(path, document, markdown(document))


def markdown(document):
    lines = [
        f"# Searches of simulated services, {document['date']}", "",
        "`make bench SECTION=search-worlds`. Everything happens on a virtual clock: the machine and what runs beside it change "
        "nothing. The truth is the rate that meets the objective for half an hour. Signed and absolute errors are medians over all "
        "searches that show a rate, held or not; *high* is held and more than 5 % above the truth, *low* more than 20 % below it; "
        "*said* is a condition that was named (spells, a change, a speed that varies, a hopeless objective), *unwatched* is held "
        "without saying for how long.", "",
        "Bars: steady services error ≤ 2.5 %, high ≤ 2 %, low ≤ 5 %, held ≥ 80 %; disturbed ones the same but for what is held; "
        "hidden conditions high ≤ 10 % in five minutes and ≤ 5 % in twelve; hopeless objectives said in ≥ 95 % within a minute (the self-check included), never held.", "",
    ]
    for part in document["parts"]:
        last = part["first_seed"] + part["count"] - 1
        lines += [f"## {part['minutes']} minutes, seeds {part['first_seed']} to {last}", ""]
        lines += ["| service | asked | truth | signed % | error % | high % | low % | held % | said % | unwatched % | median s | misses |",
                  "|---|---|---|---|---|---|---|---|---|---|---|---|"]
        lines += [cells(row) for row in part["rows"]]
        met = sum(not row["missed"] for row in part["rows"])
        lines += ["", f"{met} of {len(part['rows'])} meet every bar of theirs.", ""]
    return "\n".join(lines)


def cells(row):
    figures = [shown(row[key]) for key in COLUMNS[1:]]
    misses = ", ".join(row["missed"]) or "–"
    return f"| {row['service']} | {row['group']} | {row['truth_per_s']:g}/s | {' | '.join(figures)} | {misses} |"


def shown(value):
    return "–" if value is None else f"{value:g}"


if __name__ == "__main__":
    main()
