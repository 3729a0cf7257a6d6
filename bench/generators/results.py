"""Keeps the figures of a day with the machine they were taken on, as JSON and as Markdown."""

import datetime
import itertools
import json
import os
import platform

import peers

FOLDER = os.path.join(peers.ROOT, "bench", "results")
BESIDE_PEERS = (
    "Generators: nginx with one worker on one core, the generator on the other. CPU seconds are user + system, children "
    "and start-up included, per million requests as the server counted them. Medians of alternated runs; ratios are "
    "medians of the ratios within a round. Ratios carry over to other machines better than seconds do."
)


def save(name, outcome):
    """Adds one section to a file of today and of this machine. What was measured before stays: pages cite it."""
    os.makedirs(FOLDER, exist_ok=True)
    path, document = place_of(name)
    document["sections"][name] = outcome
    write(path, document, markdown(document))


def place_of(name):
    """The first file of today that is of this machine and lacks the section: `DAY.json`, `DAY-2.json` and so on."""
    day, here = datetime.date.today().isoformat(), machine()
    for count in itertools.count(1):
        path = os.path.join(FOLDER, f"{day}.json" if count == 1 else f"{day}-{count}.json")
        if not os.path.exists(path):
            return path, {"date": day, "machine": here, "sections": {}}
        with open(path, encoding="utf-8") as source:
            document = json.load(source)
        if document["machine"] == here and name not in document["sections"]:
            return path, document


def write(path, document, text):
    """The figures at `path`, which ends in .json, and beside it the page that people read."""
    with open(path, "w", encoding="utf-8") as out:
        json.dump(document, out, indent=1)
        out.write("\n")
    with open(path.removesuffix(".json") + ".md", "w", encoding="utf-8") as out:
        out.write(text)


def machine():
    model = first_value("/proc/cpuinfo", "model name")
    memory_kib = first_value("/proc/meminfo", "MemTotal").split()[0]
    return {
        "cpu": model, "cores": os.cpu_count(), "memory_gib": round(int(memory_kib) / 2**20),
        "kernel": platform.release(), "system": first_value("/etc/os-release", "PRETTY_NAME"),
        "hypervisor": "hypervisor" in first_value("/proc/cpuinfo", "flags").split(),
    }


def first_value(path, key):
    """The value of the first line that starts with `key`, after `:` or `=`."""
    with open(path, encoding="utf-8") as source:
        for line in source:
            if line.startswith(key):
                return line.replace("=", ":", 1).split(":", 1)[1].strip().strip('"')
    return "unknown"


def markdown(document):
    about = document["machine"]
    kind = "virtual machine" if about["hypervisor"] else "bare metal"
    lines = [
        f"# Measured on {document['date']}", "",
        f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, {kind}; "
        f"{about['system']}, Linux {about['kernel']}.", "",
    ]
    if any("rows" in outcome for outcome in document["sections"].values()):
        lines += [BESIDE_PEERS, ""]
    for name, outcome in document["sections"].items():
        lines += [section_text(name, outcome), ""]
    return "\n".join(lines)


def section_text(name, outcome):
    lines = [f"## {name}: {outcome['title']}", ""]
    if "rows" in outcome:
        lines += [f"{outcome['rounds']} rounds of {outcome['seconds']} s.", ""]
        lines += table(outcome["rows"])
        lines += [f"Not here: {peer} ({how})." for peer, how in outcome["missing"].items()]
    lines += outcome.get("notes", [])
    if outcome["bars"]:
        lines += ["", "| bar | limit | measured | |", "|---|---|---|---|"]
        lines += [bar_row(bar) for bar in outcome["bars"]]
    return "\n".join(lines)


def table(rows):
    lines = ["| generator | CPU s per million | requests/s | version |",
             "|---|---|---|---|"]
    for peer, row in sorted(rows.items(), key=lambda item: item[1]["cpu_seconds_per_million"]):
        lines.append(f"| {peer} | {row['cpu_seconds_per_million']:.2f} "
                     f"| {row['requests_per_second']:,.0f} | {row['version']} |")
    return lines + [""]


def bar_row(bar):
    unit = bar["unit"]
    found = f"{bar['found']:.3f} {unit}"
    if "lowest" in bar:
        found += f" ({bar['lowest']:.3f}–{bar['highest']:.3f})"
    if bar["passed"]:
        verdict = "pass"
    elif bar["limit"]:
        verdict = f"**miss** by {(bar['found'] / bar['limit'] - 1) * 100:.1f} %"
    else:
        verdict = "**miss**"
    return f"| {bar['what']} | {bar['limit']} {unit} | {found} | {verdict} |"
