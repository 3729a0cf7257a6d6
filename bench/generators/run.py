"""Plimsoll beside other load generators on this machine: `make bench`, or this file with a section."""

import argparse
import sys

import measure
import memory
import results
import search
import stall
import target as targets
import vus

SECTIONS = {
    "keepalive": {
        "title": "64 keep-alive connections, closed loop, two-byte answer",
        "generators": ["plimsoll", "wrk", "floor", "oha"], "tls": False, "keep": True,
        "bars": [("wrk", 1.0), ("floor", 1.15)],
    },
    "connection": {
        "title": "a connection per request, 64 at a time",
        "generators": ["plimsoll", "wrk", "ab", "floor"], "tls": False, "keep": False,
        "bars": [("wrk", 1.0), ("ab", 1.0)],
    },
    "tls": {
        "title": "TLS 1.3, 64 keep-alive connections",
        "generators": ["plimsoll", "wrk", "h2load", "bombardier"], "tls": True, "keep": True,
        "bars": [("best", 1.0)],
    },
    "handshake": {
        "title": "a full TLS handshake (P-256, no resumption) per request, 64 at a time",
        "generators": ["plimsoll", "wrk", "oha"], "tls": True, "keep": False,
        "bars": [("wrk", 0.5), ("oha", 1.0)],
    },
}
for _name, _vus, _script, _peers, _bars in [
    ("script-64", 64, "get.js", ["k6", "wrk"], [("k6", 0.125), ("wrk", 2.0)]),
    ("script-1000", 1000, "get.js", ["k6", "wrk"], [("k6", 0.125), ("wrk", 2.0)]),
    ("script-json", 64, "json.js", ["k6"], [("k6", 0.5)]),
    ("script-think", 1000, "think.js", ["k6", "floor"], [("k6", 0.125)]),
]:
    SECTIONS[_name] = {
        "title": f"k6 script bench/generators/{_script}, {_vus:,} virtual users",
        "generators": ["plimsoll", *_peers], "tls": False, "keep": True,
        "script": _script, "connections": _vus, "bars": _bars,
    }
for _tls in (False, True):
    for _connections, _streams, _one_core in [(64, 1, False), (4, 16, True)]:
        SECTIONS[f"h2{'-tls' if _tls else ''}-{_connections}x{_streams}"] = {
            "title": f"HTTP/2{' over TLS' if _tls else ''}, {_connections} connections of {_streams} stream{'s' if _streams > 1 else ''}"
                     + (", server and generator on one core" if _one_core else ""),
            "generators": ["plimsoll", "h2load", "oha"], "tls": _tls, "keep": True, "connections": _connections,
            "streams": _streams, "one_core": _one_core, "bars": [("h2load", 1.0), ("oha", 1.0)],
        }
OWN_SECTIONS = {"stall": stall.run, "search": search.run, "memory": memory.run, "script-memory": vus.run}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION",
                        help=", ".join([*SECTIONS, *OWN_SECTIONS]) + " (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="length of one run")
    asked = parser.parse_args()
    wanted = asked.sections or [*SECTIONS, *OWN_SECTIONS]
    unknown = [name for name in wanted if name not in SECTIONS and name not in OWN_SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]}; there are {', '.join([*SECTIONS, *OWN_SECTIONS])}")
    missed = 0
    for name in wanted:
        print(f"{name}:", file=sys.stderr)
        outcome = OWN_SECTIONS[name]() if name in OWN_SECTIONS else compare(name, asked)
        results.save(name, outcome)
        print(results.section_text(name, outcome))
        missed += sum(not bar["passed"] for bar in outcome["bars"])
    return 1 if missed else 0


def compare(name, asked):
    section = SECTIONS[name]
    core = measure.GENERATOR_CORE if section.get("one_core") else measure.TARGET_CORE
    with targets.Nginx(core, http2="streams" in section) as target:
        runs, missing, versions = measure.alternate(section, target, asked.rounds, asked.seconds)
    rows = {
        peer: {
            "cpu_seconds_per_million": measure.median(list_),
            "requests_per_second": measure.median(list_, "requests_count") / asked.seconds,
            "version": versions[peer],
            "runs": list_,
        }
        for peer, list_ in runs.items()
    }
    return {"title": section["title"], "rounds": asked.rounds, "seconds": asked.seconds,
            "rows": rows, "missing": missing, "bars": bars(section, runs)}


def bars(section, runs):
    """Each bar with the ratio measured; one whose peer is absent cannot be judged and is left out."""
    judged = []
    others = {name: measure.median(list_) for name, list_ in runs.items()
              if name not in ("plimsoll", "floor")}
    for peer, limit in section["bars"]:
        against = min(others, key=others.get, default=None) if peer == "best" else peer
        if "plimsoll" not in runs or against not in runs:
            continue
        found = measure.ratio(runs["plimsoll"], runs[against])
        judged.append({"what": f"CPU per request against {against}", "unit": "×", "limit": limit,
                       "found": found["median"], "lowest": found["lowest"],
                       "highest": found["highest"], "passed": found["median"] <= limit})
    return judged


if __name__ == "__main__":
    sys.exit(main())
