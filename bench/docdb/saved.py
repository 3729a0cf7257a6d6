"""Keeps the figures of a day with the machine they were taken on: bench/results/docdb-DATE.json and .md."""

import datetime
import json
import os

import results


def save(name, outcome):
    """Adds or replaces one section of today's file."""
    os.makedirs(results.FOLDER, exist_ok=True)
    day = datetime.date.today().isoformat()
    path = os.path.join(results.FOLDER, f"docdb-{day}.json")
    document = {"date": day, "machine": results.machine(), "sections": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as source:
            document["sections"] = json.load(source)["sections"]
    document["sections"][name] = outcome
    results.write(path, document, markdown(document))


def markdown(document):
    about = document["machine"]
    kind = "virtual machine" if about["hypervisor"] else "bare metal"
    lines = [
        f"# DocDB side by side, {document['date']}", "",
        f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, {kind}; {about['system']}, Linux {about['kernel']}.",
        "The server on one core, the client on the other, one server at a time. CPU is user + system of the server's process, its threads "
        "and its children per completed operation. Medians of alternated runs; ratios are medians of the ratios within a round.", "",
    ]
    for name, outcome in document["sections"].items():
        lines += [section_text(name, outcome), ""]
    return "\n".join(lines)


def section_text(name, outcome):
    lines = [f"## {name}: {outcome['title']}", "", *outcome["notes"]]
    if outcome["bars"]:
        lines += ["", "| bar | limit | measured | |", "|---|---|---|---|"]
        lines += [results.bar_row(bar) for bar in outcome["bars"]]
    return "\n".join(lines)
