"""Keeps the causes of a day with the machine they were named on: bench/results/causes-DATE.json and .md."""

import json
import os

import results
import verdict

# Of twelve services eleven are to be right.
RIGHT_SHARE = 11 / 12


def seconds(text):
    """`90s` or `3m`."""
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def outcome(asked, rows, missing):
    beside = f"{asked.busy} busy loop{'' if asked.busy == 1 else 's'} beside it"
    what = "what explain says of the same records after a change" if asked.again else "the cause that find names"
    return {"title": f"{what}, {beside}",
            "time": asked.time, "note": asked.note, "rows": rows, "missing": missing, "bars": bars(rows)}


def bars(rows):
    counted = {word: sum(row["class"] == word for row in rows)
               for word in (verdict.RIGHT, verdict.SURE, verdict.VOID)}
    share = counted[verdict.RIGHT] / max(len(rows), 1)
    return [
        {"what": "right cause first", "limit": f"{RIGHT_SHARE:.0%}", "found": f"{counted[verdict.RIGHT]} of {len(rows)}",
         "passed": share >= RIGHT_SHARE},
        {"what": "wrong and sure", "limit": "0", "found": str(counted[verdict.SURE]), "passed": counted[verdict.SURE] == 0},
        {"what": "void", "limit": "0", "found": str(counted[verdict.VOID]), "passed": counted[verdict.VOID] == 0},
    ]


def save(asked, rows, missing):
    """Adds these searches to the file of the day that they began; one that is there with as many busy loops is replaced."""
    os.makedirs(results.FOLDER, exist_ok=True)
    day = asked.day
    path = os.path.join(results.FOLDER, f"causes-{day}.json")
    document = {"date": day, "machine": results.machine(), "sections": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as source:
            document["sections"] = json.load(source)["sections"]
    name = f"busy-{asked.busy}{'-again' if asked.again else ''}"
    before = document["sections"].get(name, {"rows": []})["rows"]
    new = {row["service"] for row in rows}
    all_rows = [row for row in before if row["service"] not in new] + rows
    document["sections"][name] = outcome(asked, all_rows, missing)
    results.write(path, document, markdown(document))


def markdown(document):
    about = document["machine"]
    kind = "virtual machine" if about["hypervisor"] else "bare metal"
    lines = [
        f"# Causes named by find, {document['date']}", "",
        f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, {kind}; {about['system']}, Linux {about['kernel']}.",
        "One injected limit each. The ceiling is what the injected figures allow, the closed loop what 32 users of Python's "
        "http.client got before the search, the capacity what the search found; a generator, a service and what is behind "
        "it share the machine with the busy loops.", "",
    ]
    for part in document["sections"].values():
        lines += [section_text(part), ""]
    return "\n".join(lines)


def section_text(part):
    lines = [f"## {part['title']}", "", f"At most {part['time']} each. {part['note']}".rstrip(), "",
             "| service | injected | said | | ceiling | closed loop | capacity |", "|---|---|---|---|---|---|---|"]
    lines += [cells(row) for row in part["rows"]]
    lines += [f"\nNot here: {name} ({why})." for name, why in part["missing"].items()]
    lines += ["", "| bar | limit | measured | |", "|---|---|---|---|"]
    lines += [f"| {bar['what']} | {bar['limit']} | {bar['found']} | {'pass' if bar['passed'] else '**miss**'} |"
              for bar in part["bars"]]
    return "\n".join(lines)


def cells(row):
    injected = " or ".join(row["accepted"])
    rates = " | ".join(rate(row[key]) for key in ("ceiling_per_s", "closed_loop_per_s"))
    return f"| {row['service']} | {injected} | {said(row)} | {row['class']} | {rates} | {capacity(row)} |"


def said(row):
    if row["cause"] is None:
        return "nothing"
    tier = f" of {row['tier']}" if row["tier"] else ""
    return f"{row['cause']}{tier}, {row['confidence']}"


def rate(value):
    return f"{value:.0f}/s" if value else "–"


def capacity(row):
    bounds = row["capacity_per_s"] or {}
    lower, upper = bounds.get("lower"), bounds.get("upper")
    return f"{lower:.0f}–{upper:.0f}/s" if lower and upper else rate(lower)


def line(row):
    """One search in one line."""
    return f"{row['class']}: {said(row)}; capacity {capacity(row)}"
