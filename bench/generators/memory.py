"""Resident memory of ten minutes at 5,000 requests/s: flat after the first minute."""

import os
import shutil
import subprocess
import tempfile
import time

import measure
import peers
import target as targets

RATE = "5000/s"
SECONDS = 600
SETTLE_SECONDS = 60
# A page cache of the allocator comes and goes; a leak of one byte per request would be 2.6 MiB.
GROWTH_MIB_MAX = 1.0


def run():
    path = peers.find("plimsoll")
    if path is None:
        raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
    folder = tempfile.mkdtemp(prefix="plimsoll-memory-")
    try:
        with targets.Nginx(measure.TARGET_CORE) as target:
            samples = sample(path, target, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    settled = samples[SETTLE_SECONDS]
    growth = max(samples[SETTLE_SECONDS:]) - settled
    return {
        "title": f"resident memory, {SECONDS // 60} minutes at {RATE} with a record written",
        "rss_mib": [round(value, 2) for value in samples],
        "notes": [f"After the first minute {settled:.1f} MiB, at the end {samples[-1]:.1f} MiB, "
                  f"highest {max(samples):.1f} MiB."],
        "bars": [{"what": "growth after the first minute", "unit": "MiB", "limit": GROWTH_MIB_MAX,
                  "found": growth, "passed": growth <= GROWTH_MIB_MAX}],
    }


def sample(path, target, folder):
    """Resident MiB, once a second for as long as the run lasts."""
    call = [path, "run", target.url(), "-q", RATE, "-c", "64", "-z", f"{SECONDS}s",
            "--workers", "1", "--quiet"]
    process = subprocess.Popen(
        call, cwd=folder, stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {measure.GENERATOR_CORE}))
    samples, begun = [], time.monotonic()
    while process.poll() is None:
        due = begun + len(samples) + 1
        time.sleep(max(0.0, due - time.monotonic()))
        resident = resident_mib(process.pid)
        if resident is not None:
            samples.append(resident)
    # 3 says that a gate failed, as a busy host makes it; the memory was measured all the same.
    if process.returncode not in (0, 3) or len(samples) < SECONDS - 5:
        raise SystemExit(f"plimsoll ended with {process.returncode} after {len(samples)} s")
    return samples


def resident_mib(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as source:
            kib = [line.split()[1] for line in source if line.startswith("VmRSS:")]
    except FileNotFoundError:
        return None
    return int(kib[0]) / 1024 if kib else None
