"""The services that are searched: how each is started, its objective, what was injected and what may be answered."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
SERVICES = os.path.join(HERE, "services")

OBJECTIVE = "p99<250ms,errors<0.1%"
# The tier that the load goes to, and any other; plimsoll names what it finds behind by port.
FRONT, BEHIND = "front", "behind"


def of_language(language, kind, number, milliseconds, accepted, ceiling, tier=None):
    """A service of bench/causes/services; `tier` is how many the tier behind serves at once and for how long."""
    return {"language": language, "call": [kind, str(number), str(milliseconds)],
            "tier": tier and ["tier", *map(str, tier)], "objective": OBJECTIVE,
            "accepted": accepted, "at_once": number or None, "ceiling": ceiling}


def lock(language, milliseconds):
    return of_language(language, "lock", 1, milliseconds, {"lock": FRONT}, 1e3 / milliseconds)


def workers(language, number, milliseconds):
    return of_language(language, "workers", number, milliseconds, {"concurrency": FRONT}, number * 1e3 / milliseconds)


def pool(language, number, milliseconds):
    """The tier behind takes any number, so what is short are the connections."""
    return of_language(language, "pool", number, 0, {"pool": FRONT, "concurrency": FRONT},
                       number * 1e3 / milliseconds, (1000, milliseconds))


def downstream(language, milliseconds):
    """The tier behind takes one at a time, asleep; the front passes on what it gets."""
    return of_language(language, "front", 0, 0, {"downstream": BEHIND}, 1e3 / milliseconds, (1, milliseconds))


def fixture(name, cause, tier=FRONT, objective=OBJECTIVE):
    """`plimsoll serve NAME`, which says its own ceiling."""
    return {"fixture": name, "objective": objective, "accepted": {cause: tier}, "at_once": None, "ceiling": None}


TABLE = {
    "go-lock": lock("go", 8),
    "go-workers": workers("go", 8, 80),
    "go-pool": pool("go", 10, 60),
    "go-downstream": downstream("go", 9),
    "node-lock": lock("js", 12),
    "node-workers": workers("js", 5, 60),
    "node-pool": pool("js", 6, 70),
    "node-downstream": downstream("js", 11),
    "node-loop": of_language("js", "loop", 1, 6, {"pinned_thread": FRONT, "event_loop": FRONT}, 1e3 / 6),
    "python-lock": lock("py", 14),
    "python-workers": workers("py", 6, 90),
    "python-pool": pool("py", 5, 55),
    "python-downstream": downstream("py", 13),
    "rust-lock": lock("rs", 6),
    "rust-workers": workers("rs", 12, 70),
    "rust-pool": pool("rs", 9, 65),
    "rust-downstream": downstream("rs", 10),
    "pinned-loop": fixture("pinned-loop", "pinned_thread"),
    "cpu-quota": fixture("cpu-quota", "cpu_quota"),
    "small-pool": fixture("small-pool", "pool"),
    "proxy-slots": fixture("proxy-slots", "connection_slots"),
    "lock": fixture("lock", "lock"),
    "event-loop": fixture("event-loop", "event_loop"),
    "fsync": fixture("fsync", "disk"),
    "slow-downstream": fixture("slow-downstream", "downstream", BEHIND),
    "stalls": fixture("stalls", "stalls", objective="p99<50ms,errors<0.1%"),
    "memory-gc": fixture("memory-gc", "memory"),
    "rate-rule": fixture("rate-rule", "rule"),
}
