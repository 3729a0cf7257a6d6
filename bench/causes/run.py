"""Is the cause that `plimsoll find` names the one that was injected? `make bench SECTION=causes`, or this file.

Small services in Go, Node, Python and Rust, and every fixture of `plimsoll serve`, each with one injected limit, are
searched one after the other beside busy loops. The bar of twelve services is eleven causes named first, none wrong and
sure, none void; here all are searched, and the shares are the same. `unknown` is silence: not right, and not wrong.
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "generators"))

import peers  # noqa: E402
import saved  # noqa: E402
import service as services  # noqa: E402
import table  # noqa: E402
import verdict  # noqa: E402

BUSY = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""
CEILING_SECONDS = 3
# A search that has not ended so long after its time is ended and counts as void.
GRACE_SECONDS = 120


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="services (default: all): " + ", ".join(table.TABLE))
    parser.add_argument("--busy", type=int, default=1, help="busy loops beside the searches")
    parser.add_argument("--time", default="3m", help="longest time of a search, from 150s")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--plimsoll", help="the program (default: target/release/plimsoll)")
    parser.add_argument("--records", metavar="FOLDER", help="keep the records here")
    parser.add_argument("--again", action="store_true", help="no search: explain the records of --records once more, say after a change, and save that beside the searches")
    parser.add_argument("--ceilings", action="store_true", help="no search: only measure each ceiling with a closed loop")
    parser.add_argument("--note", default="", help="what else ran on the machine, for the table")
    asked = parser.parse_args()
    names = [name for name in asked.names if name != "causes"] or list(table.TABLE)
    unknown = [name for name in names if name not in table.TABLE]
    if unknown:
        parser.error(f"no service {unknown[0]}; there are {', '.join(table.TABLE)}")
    if asked.again and not asked.records:
        parser.error("--again needs --records, the folder of the searches")
    asked.plimsoll = asked.plimsoll or peers.find("plimsoll")
    if asked.plimsoll is None:
        raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
    asked.day = datetime.date.today().isoformat()
    # Every process is ended on the way out: a polite end of ours must take that way too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="plimsoll-causes-") as scratch:
        asked.records = asked.records or scratch
        os.makedirs(asked.records, exist_ok=True)
        return 0 if measured(names, asked) else 1


def measured(names, asked):
    """Whether the bar is met; true where only ceilings were asked for."""
    missing, judged = {}, []
    loops = [] if asked.again else [busy_loop() for _ in range(asked.busy)]
    try:
        for turn in range(asked.rounds):
            for name in names:
                try:
                    row = again(name, turn, asked) if asked.again else searched(name, turn, asked)
                except services.Missing as why:
                    missing[name] = str(why)
                    continue
                if row:
                    judged.append(row)
                    saved.save(asked, judged, missing)
    finally:
        for loop in loops:
            loop.terminate()
            loop.wait()
    if not judged:
        return True
    print(saved.section_text(saved.outcome(asked, judged, missing)))
    return all(bar["passed"] for bar in saved.bars(judged))


def busy_loop():
    """A process that spins, and ends by itself when this one is gone."""
    return subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())])


def searched(name, turn, asked):
    """The row of one search; None where only the ceiling was asked for."""
    with services.Service(name, asked.plimsoll) as service:
        rate = services.closed_loop(service.url, CEILING_SECONDS)
        about = f"{name}: closed loop {rate:.0f}/s" + (f" of {service.ceiling:.0f}/s" if service.ceiling else "")
        print(about, file=sys.stderr, flush=True)
        if asked.ceilings:
            return None
        found = find(service, asked, kept(name, turn, asked))
    found["closed_loop_per_s"], found["service_ceiling_per_s"] = rate, service.ceiling
    with open(kept(name, turn, asked) + ".json", "w", encoding="utf-8") as out:
        json.dump(found, out, indent=1)
    row = verdict.row(name, table.TABLE[name], service.ceiling, rate, found)
    tell(row, found)
    return row


def tell(row, found):
    """One line, and the evidence where the answer is not the right one: it stays out of the results, for it names neighbours."""
    print(f"{row['service']}: {saved.line(row)}", file=sys.stderr, flush=True)
    if row["class"] != verdict.RIGHT:
        limit = found.get("limit") or {}
        lines = [line["text"] for line in limit.get("evidence", [])] or [found.get("headline", "")]
        print("".join(f"  {line}\n" for line in lines), end="", file=sys.stderr, flush=True)


def kept(name, turn, asked):
    return os.path.join(asked.records, f"{name}-{turn}")


def find(service, asked, path):
    """The JSON of one search, in a time that is bounded from outside too."""
    call = [asked.plimsoll, "find", service.url, "--slo", service.entry["objective"], "--within", asked.time, "--quiet",
            "--force", "--format", "json", "-o", path + ".plimsoll.jsonl"]
    for watch in service.watch:
        call += ["--watch", watch]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said, wrong = process.communicate(timeout=saved.seconds(asked.time) + GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        said, wrong = process.communicate()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    try:
        return json.loads(said)
    except json.JSONDecodeError:
        print(f"find ended with {process.returncode}: {wrong}{said[:500]}", file=sys.stderr)
        return {"valid": False}


def again(name, turn, asked):
    """The row of an earlier search whose record is explained by this program; None where there is no record."""
    path = kept(name, turn, asked)
    if not os.path.exists(path + ".json"):
        return None
    with open(path + ".json", encoding="utf-8") as source:
        found = json.load(source)
    call = [asked.plimsoll, "explain", path + ".plimsoll.jsonl", "--format", "json"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    found["limit"] = said.get("limit") if found.get("limit") else None
    row = verdict.row(name, table.TABLE[name], found["service_ceiling_per_s"], found["closed_loop_per_s"], found)
    tell(row, found)
    return row


if __name__ == "__main__":
    sys.exit(main())
