"""Resident memory of an idle virtual user: plimsoll and k6 with the same script, at 1,000 and 10,000."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import measure
import memory
import peers
import target as targets

COUNTS = (1, 1000, 10000)
# Of k6's memory per virtual user.
RATIO_MAX = 0.25
# Longest wait for all virtual users to exist, and for their memory to come to rest.
START_SECONDS = 240
REST_SECONDS = 6


def write_scripts(folder):
    """The script and its two libraries of about 20 KB of functions each."""
    shutil.copy(os.path.join(peers.HERE, "idle.js"), folder)
    for name in ("first", "second"):
        functions = [f"export function helper{n}(value) {{\n  const text = `${{value}}-{name}-{n}`;\n"
                     f"  const parts = text.split('-').map((part) => part.trim().toUpperCase());\n"
                     f"  return parts.filter((part) => part.length > {n % 5}).length;\n}}\n" for n in range(98)]
        with open(os.path.join(folder, f"{name}.js"), "w", encoding="utf-8") as out:
            out.write("".join(functions))


def run():
    with tempfile.TemporaryDirectory() as folder:
        write_scripts(folder)
        return measured(os.path.join(folder, "idle.js"))


def measured(script):
    programs = {name: peers.find(name) for name in ("plimsoll", "k6")}
    missing = {name: peers.INSTALL[name] for name, path in programs.items() if path is None}
    resident = {}
    with targets.Nginx(measure.TARGET_CORE) as target:
        for name, path in programs.items():
            if path is not None:
                resident[name] = {count: idle(name, path, target, script, count) for count in COUNTS}
                print(f"  {name}: {resident[name]}", file=sys.stderr)
    each = {name: {count: (mib[count] - mib[1]) * 1024 / (count - 1) for count in COUNTS[1:]}
            for name, mib in resident.items()}
    notes = [f"{name}: " + ", ".join(f"{count:,} virtual users {resident[name][count]:.0f} MiB, "
                                     f"{kib:.0f} KiB each" for count, kib in rows.items()) + "."
             for name, rows in each.items()]
    bars = []
    if {"plimsoll", "k6"} <= each.keys():
        bars = [bar(count, each["plimsoll"][count] / each["k6"][count]) for count in COUNTS[1:]]
    return {"title": "memory of an idle virtual user, two libraries of 20 KB imported", "notes": notes,
            "missing": missing, "bars": bars}


def bar(count, found):
    return {"what": f"memory per virtual user against k6, {count:,} of them", "unit": "×", "limit": RATIO_MAX,
            "found": found, "passed": found <= RATIO_MAX}


def idle(name, path, target, script, count):
    """Resident MiB once it no longer grows."""
    call = [path, "run", "--quiet", "-u", str(count), "-d", "600s", "-e", f"URL={target.url()}",
            script]
    call += ["--no-record", "--workers", "1"] if name == "plimsoll" else []
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return settled(process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def settled(process):
    end, seen = time.monotonic() + START_SECONDS, []
    while time.monotonic() < end:
        time.sleep(1)
        if process.poll() is not None:
            raise SystemExit(f"{process.args[0]} ended with {process.returncode}")
        seen.append(memory.resident_mib(process.pid))
        recent = seen[-REST_SECONDS:]
        if len(recent) == REST_SECONDS and max(recent) - min(recent) < 0.005 * max(recent):
            return seen[-1]
    raise SystemExit(f"{process.args[0]}: its memory does not come to rest")
