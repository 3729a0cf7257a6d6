"""DocDB beside other databases, and against itself with more databases: `make bench SECTION=docdb`, or this file."""

import argparse
import os
import subprocess
import sys

import servers

sys.path.insert(0, os.path.join(servers.ROOT, "bench", "generators"))

import hostile  # noqa: E402
import mix  # noqa: E402
import own  # noqa: E402
import saved  # noqa: E402

SECTIONS = {
    "mix": mix.run, "databases": own.databases, "workers": own.workers, "noisy": own.noisy, "commit": own.commit, "memory": own.memory,
    "hostile": hostile.run,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS) + " (default: all); docdb is all too")
    parser.add_argument("--rounds", type=int, help="of a section that alternates")
    parser.add_argument("--seconds", type=int, help="length of one run")
    parser.add_argument("--only", action="append", metavar="SERVER", help="of plimsoll, ferretdb and redis, in mix")
    asked = parser.parse_args()
    wanted = [name.removeprefix("docdb-") for name in asked.sections if name != "docdb"] or list(SECTIONS)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    prepare()
    missed = 0
    for name in wanted:
        print(f"{name}:", file=sys.stderr)
        options = {key: value for key, value in (("rounds", asked.rounds), ("seconds", asked.seconds)) if value}
        if name == "mix" and asked.only:
            options["names"] = asked.only
        outcome = SECTIONS[name](**options)
        saved.save(name, outcome)
        print(saved.section_text(name, outcome))
        missed += sum(not bar["passed"] for bar in outcome["bars"])
    return 1 if missed else 0


def prepare():
    """The drivers from their lock file; the commands that are missing with the way to install them."""
    if not os.path.isdir(os.path.join(servers.HERE, "node_modules", "mongodb")):
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--prefix", servers.HERE], check=True)
    if servers.find("plimsoll") is None:
        print(f"plimsoll is missing; build it with: {servers.INSTALL['plimsoll']}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
