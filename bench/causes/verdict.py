"""What a search said about the cause, held against what was injected."""

import table

RIGHT, SECOND, SILENT, WRONG, SURE, VOID = (
    "right", "right but second", "unknown", "wrong, suspected", "wrong and sure", "void")
NO_CAUSE = ("unknown", "not_reached")
# What plimsoll calls the tier that the load goes to.
ENTRY = "target"
# The evidence line of a rival that is as likely, in the words of the terminal.
RIVAL = "not ruled out: "
WORDS = {"pinned_thread": "one thread", "cpu": "processors", "cpu_quota": "CPU quota", "connection_slots": "connection slots",
         "pool": "connection pool", "downstream": "downstream", "lock": "lock or serialised section",
         "concurrency": "limit on requests served at once", "disk": "disk", "event_loop": "event loop", "memory": "memory",
         "stalls": "stalls", "rule": "rate rule"}


def classified(entry, found):
    """One of the words above; the first cause alone counts as right."""
    limit = found.get("limit")
    if not found.get("valid") or limit is None:
        return VOID
    if limit["cause"] in NO_CAUSE:
        return SILENT
    accepted = entry["accepted"].get(limit["cause"])
    place = table.FRONT if limit.get("tier") in (None, ENTRY) else table.BEHIND
    if accepted == place:
        return RIGHT
    if limit["confidence"] in ("supported", "confirmed"):
        return SURE
    rivals = [line["text"] for line in limit["evidence"] if line["text"].startswith(RIVAL)]
    named = [cause for cause in entry["accepted"] if any(text.startswith(RIVAL + WORDS[cause]) for text in rivals)]
    return SECOND if named else WRONG


def row(name, entry, service_ceiling, measured, found):
    """What is kept of one search."""
    limit = found.get("limit") or {}
    capacity = found.get("capacity_per_s")
    return {
        "service": name, "class": classified(entry, found), "accepted": entry["accepted"], "cause": limit.get("cause"),
        "tier": limit.get("tier"), "confidence": limit.get("confidence"), "ceiling_per_s": service_ceiling,
        "closed_loop_per_s": measured, "named_ceiling_per_s": limit.get("ceiling_per_s"), "capacity_per_s": capacity,
        "verdict": found.get("verdict"), "valid": found.get("valid"), "duration_seconds": found.get("duration_seconds"),
    }
