"""Clients that mean harm, one kind after the other: what the server's memory grows to, and how long a bystander waits.

The server has one core, they and the bystander share the other. The budget is for what queries and clients hold; the cache for blocks of
the data comes on top of it.

The bystander is a process of its own that reads one document by its _id twenty times a second, each due at a time that does not
depend on the answers before; a read waits from when it was due. It was served before they come, as an application was that is in use:
who connects in the same moment as they do waits once for all of them. Memory is the peak of the server's resident set, reset before each kind.
"""

import contextlib
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time

import servers

BUDGET_MIB = 256
CACHE_MIB = 128
SLACK_MIB = 100
P99_MS = 20
RATE = 20
ROWS = 1_000_000
LARGE = 12
LARGE_BYTES = (16 << 20) - 100
BOMB = r"^(a+)+\1b$"


def encode(document):
    """BSON of what these commands are made of."""
    out = bytearray()
    for name, value in document.items():
        key = name.encode() + b"\0"
        if isinstance(value, bool):
            out += b"\x08" + key + bytes([value])
        elif isinstance(value, float):
            out += b"\x01" + key + struct.pack("<d", value)
        elif isinstance(value, int):
            small = -(1 << 31) <= value < 1 << 31
            out += (b"\x10" if small else b"\x12") + key + struct.pack("<i" if small else "<q", value)
        elif isinstance(value, str):
            text = value.encode() + b"\0"
            out += b"\x02" + key + struct.pack("<i", len(text)) + text
        elif isinstance(value, dict):
            out += b"\x03" + key + encode(value)
        else:
            out += b"\x04" + key + encode({str(at): one for at, one in enumerate(value)})
    return struct.pack("<i", len(out) + 5) + bytes(out) + b"\0"


def message(command, database="db"):
    body = encode({**command, "$db": database})
    return struct.pack("<iiiiiB", 21 + len(body), 1, 0, 2013, 0, 0) + body


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self, count):
        parts = bytearray()
        while len(parts) < count:
            part = self.socket.recv(min(count - len(parts), 1 << 20))
            if not part:
                raise ConnectionError("closed by the server")
            parts += part
        return bytes(parts)

    def reply(self):
        length = struct.unpack("<i", self.read(4))[0]
        return self.read(length - 4)

    def ask(self, command, database="db"):
        self.socket.sendall(message(command, database))
        return self.reply()


def number(reply, name):
    """A whole number of a reply, wherever in it; 0 if it has none of this name."""
    for kind, form in ((b"\x12", "<q"), (b"\x10", "<i"), (b"\x01", "<d")):
        at = reply.find(kind + name.encode() + b"\0")
        if at >= 0:
            at += len(name) + 2
            return int(struct.unpack_from(form, reply, at)[0])
    return 0


def insert_rows(client, name, rows):
    """Documents that are BSON already, in messages of a kind that drivers use for many."""
    for start in range(0, len(rows), 20_000):
        documents = b"".join(rows[start:start + 20_000])
        body = encode({"insert": name, "ordered": False, "$db": "db"})
        section = struct.pack("<i", 4 + 10 + len(documents)) + b"documents\0" + documents
        length = 16 + 4 + 1 + len(body) + 1 + len(section)
        client.socket.sendall(struct.pack("<iiiiiB", length, 1, 0, 2013, 0, 0) + body + b"\x01" + section)
        client.reply()


def fill(port):
    client = Client(port)
    insert_rows(client, "point", [encode({"_id": key, "text": "x" * 100}) for key in range(1000)])
    insert_rows(client, "regex", [encode({"_id": key, "text": "a" * 60}) for key in range(5000)])
    for key in range(LARGE):
        client.ask({"insert": "large", "documents": [{"_id": key, "text": "x" * LARGE_BYTES}]})
    for key in range(30):
        client.ask({"insert": "wide", "documents": [{"_id": key, "text": "x" * (1 << 20)}]})
    chance = random.Random(1)
    head = encode({"_id": 0, "rank": 0, "text": "x" * 160})
    at_id, at_rank = head.index(b"\x10_id\0") + 5, head.index(b"\x10rank\0") + 6
    for start in range(0, ROWS, 100_000):
        rows = []
        for key in range(start, start + 100_000):
            row = bytearray(head)
            struct.pack_into("<i", row, at_id, key)
            struct.pack_into("<i", row, at_rank, chance.randrange(1 << 31))
            rows.append(bytes(row))
        insert_rows(client, "rows", rows)


def in_threads(count, body):
    threads = [threading.Thread(target=body, args=(index,), daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def until(end, port, body):
    """Again and again with a client, a new one where the server ended the last."""
    while time.monotonic() < end:
        with contextlib.suppress(OSError, struct.error):
            client = Client(port)
            with client.socket:
                while time.monotonic() < end:
                    body(client)


def rubbish(port, end):
    chance = random.Random(2)
    def send(client):
        client.socket.settimeout(1)
        client.socket.sendall(chance.randbytes(chance.randrange(1, 5000)))
        client.socket.recv(100)
        raise ConnectionError("next")
    in_threads(4, lambda _: until(end, port, send))


def halves(port, end):
    """Messages of 48 MB that stop after a megabyte: together four times the budget."""
    held, part = [], struct.pack("<iiiiiB", 48_000_000, 1, 0, 2013, 0, 0) + b"\0" * (1 << 20)
    while time.monotonic() < end:
        if len(held) < 1024:
            with contextlib.suppress(OSError):
                held.append(Client(port))
                held[-1].socket.settimeout(1)
                held[-1].socket.sendall(part)
        else:
            time.sleep(0.1)


def crowd(port, end):
    held = []
    while len(held) < 5000 and time.monotonic() < end:
        held.append(Client(port))
    while time.monotonic() < end:
        for client in held:
            client.ask({"find": "point", "filter": {"_id": 5}})
            if time.monotonic() > end:
                break


def unread(port, end):
    """Four megabytes of finds on each connection, and nobody reads what comes."""
    finds = message({"find": "wide"}) * 60_000
    held = []
    while time.monotonic() < end and len(held) < 40:
        with contextlib.suppress(OSError):
            held.append(Client(port))
            held[-1].socket.settimeout(0.2)
            held[-1].socket.sendall(finds[:4 << 20])
    time.sleep(max(0, end - time.monotonic()))


def cursors(reads):
    def attack(port, end):
        def body(client):
            cursor = number(client.ask({"find": "large", "batchSize": 1}), "id")
            while cursor and time.monotonic() < end:
                more = {"getMore": cursor, "collection": "large", "batchSize": 10}
                if not reads:
                    client.socket.sendall(message(more))
                    time.sleep(max(0, end - time.monotonic()))
                    return
                cursor = number(client.ask(more)[-200:], "id")
        in_threads(40, lambda _: until(end, port, body))
    return attack


def regex(port, end):
    queries = [
        {"find": "regex", "filter": {"text": {"$regex": BOMB}}},
        {"count": "regex", "query": {"text": {"$regex": r"^(a+)(a+)\1\2?b$"}}},
        {"update": "regex", "updates": [{"q": {}, "multi": True, "u": {"$pull": {"none": {"$regex": BOMB}}}}]},
        {"aggregate": "regex", "cursor": {}, "pipeline": [{"$match": {"$expr": {"$regexMatch": {"input": "$text", "regex": BOMB}}}}]},
    ]
    in_threads(4, lambda index: until(end, port, lambda client: client.ask(queries[index])))


def lists(make, count):
    """One client that asks with a list of so many numbers, or about one, again and again. What is refused harms nobody: it is counted."""
    def attack(port, end):
        words, asked, refused = [message(command) for command in make(list(range(count)))], 0, 0
        def body(client):
            nonlocal asked, refused
            for command in words:
                client.socket.sendall(command)
                asked, refused = asked + 1, refused + (b"\x02errmsg\0" in client.reply())
        until(end, port, body)
        print(f"  {asked} commands with lists, {refused} of them refused", file=sys.stderr)
    return attack


def set_of(numbers):
    return [{"update": "lists", "updates": [{"q": {"_id": 1}, "upsert": True, "u": change}]}
            for change in ({"$addToSet": {"list": {"$each": numbers}}}, {"$pullAll": {"list": numbers}})]


def distinct_of(numbers):
    return [{"insert": "lists", "documents": [{"_id": 2, "list": numbers}]}, *[{"distinct": "lists", "key": "list"}] * 100]


def sorts(port, end):
    queries = [
        {"find": "rows", "sort": {"rank": 1}, "batchSize": 100},
        {"aggregate": "rows", "cursor": {}, "pipeline": [{"$group": {"_id": "$rank", "all": {"$push": "$$ROOT"}}}]},
        {"aggregate": "rows", "cursor": {}, "pipeline": [{"$sort": {"rank": -1, "text": 1}}, {"$limit": 900_000}]},
        {"count": "rows", "query": {"rank": {"$lt": 0}}},
    ]
    in_threads(4, lambda index: until(end, port, lambda client: client.ask(queries[index])))


ATTACKS = {
    "nobody": (lambda port, end: time.sleep(end - time.monotonic()), 10),
    "random bytes": (rubbish, 10),
    "half messages": (halves, 15),
    "5,000 connections": (crowd, 30),
    "pipelining, unread": (unread, 15),
    "40 cursors over 16 MB documents": (cursors(True), 20),
    "the same, unread": (cursors(False), 15),
    "regular expressions that explode": (regex, 15),
    # Before the sorts, whose cursors stay and hold the budget: these would be refused.
    "a filter with 1,000,000 numbers": (lists(lambda all: [{"find": "point", "filter": {"_id": {"$in": all}}, "singleBatch": True}], 1_000_000), 20),
    "sets of 100,000 numbers": (lists(set_of, 100_000), 20),
    "distinct numbers of a list of 1,000,000": (lists(distinct_of, 1_000_000), 20),
    "sorts and groups of 1,000,000": (sorts, 45),
}


def bystander(port, seconds):
    """Prints how long each read waited, in milliseconds."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    os.sched_setaffinity(0, {servers.CLIENT_CORE})
    client, found = Client(port), []
    client.ask({"find": "point", "filter": {"_id": 0}})
    print("ready", flush=True)
    begun = time.monotonic()
    for index in range(int(seconds * RATE)):
        due = begun + index / RATE
        while (left := due - time.monotonic()) > 0:
            time.sleep(left)
        reply = client.ask({"find": "point", "filter": {"_id": index % 1000}})
        assert number(reply, "ok") == 1 and b"x" * 100 in reply, reply
        found.append((time.monotonic() - due) * 1e3)
    print(json.dumps(found))


def resident(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as source:
        line = next(line for line in source if line.startswith(name))
    return int(line.split()[1]) / 1024


def waited(pid):
    """Seconds that the server's threads were ready and had no core."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as source:
            total += int(source.read().split()[1])
    return total / 1e9


def played(server, attack, seconds):
    pid = server.process.pid
    delayed = waited(pid)
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as peak:
        peak.write("5")
    before = resident(pid, "VmRSS")
    watcher = subprocess.Popen([sys.executable, __file__, str(server.port), str(seconds)], stdout=subprocess.PIPE, text=True)
    watcher.stdout.readline()
    end = time.monotonic() + seconds
    attacker = os.fork()
    if attacker == 0:
        os.sched_setaffinity(0, {servers.CLIENT_CORE})
        try:
            attack(server.port, end)
        finally:
            os._exit(0)
    waits = sorted(json.loads(watcher.communicate()[0] or "[]"))
    os.waitpid(attacker, 0)
    if server.process.poll() is not None:
        raise SystemExit(f"the server ended; its last words:\n{server.log_end()}")
    at = lambda share: waits[min(len(waits) - 1, int(len(waits) * share))] if waits else float("inf")  # noqa: E731
    return {"before_mib": before, "peak_mib": resident(pid, "VmHWM"), "reads": len(waits), "no_core": (waited(pid) - delayed) / seconds,
            "p50_ms": at(0.5), "p99_ms": at(0.99), "most_ms": at(1)}


def run(names=None, seconds=None):
    more = ["--memory", str(BUDGET_MIB), "--cache", str(CACHE_MIB)]
    rows, bars, runs = [], [], {}
    with servers.Server("plimsoll", more) as server:
        fill(server.port)
        for name, (attack, usual) in ATTACKS.items():
            if names and not any(wanted in name for wanted in names):
                continue
            found = runs[name] = played(server, attack, seconds or usual)
            rows.append(f"| {name} | {found['before_mib']:.0f} | {found['peak_mib']:.0f} | {found['p50_ms']:.2f} | {found['p99_ms']:.2f} "
                        f"| {found['most_ms']:.1f} | {found['reads']} | {found['no_core'] * 100:.0f} % |")
            print("  " + rows[-1], file=sys.stderr)
            limit = BUDGET_MIB + CACHE_MIB + SLACK_MIB
            bars.append(bar(f"{name}: resident memory at most", "MiB", limit, found["peak_mib"]))
            bars.append(bar(f"{name}: p99 of a bystander's read", "ms", P99_MS, found["p99_ms"]))
    notes = [f"One server, --memory {BUDGET_MIB}, --cache {CACHE_MIB}; a bystander reads by _id {RATE} times a second.", "",
             "| who | MiB before | MiB at most | p50 ms | p99 ms | longest ms | reads | server had no core |", "|---" * 8 + "|", *rows]
    return {"title": "clients that mean harm", "notes": notes, "runs": runs, "bars": bars}


def bar(what, unit, limit, found):
    return {"what": what, "unit": unit, "limit": limit, "found": found, "lowest": found, "highest": found, "passed": found <= limit}


if __name__ == "__main__":
    bystander(int(sys.argv[1]), float(sys.argv[2]))
