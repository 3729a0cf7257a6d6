"""The generators that are compared: how each is called, where it is found, how it is installed."""

import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLS = os.path.join(ROOT, "bench", ".tools")
CONNECTIONS = 64

INSTALL = {
    "plimsoll": "cargo build --release -p plimsoll",
    "wrk": "apt-get install wrk",
    "ab": "apt-get install apache2-utils",
    "h2load": "apt-get install nghttp2-client",
    "oha": "cargo install oha --locked --root bench/.tools",
    "bombardier": "GOBIN=$PWD/bench/.tools/bin go install github.com/codesenberg/bombardier@latest",
    "floor": "apt-get install gcc",
    "k6": "GOBIN=$PWD/bench/.tools/bin go install go.k6.io/k6/v2@v2.2.0",
}


def find(name):
    """The program behind a name, or None."""
    if name == "floor":
        return build_floor()
    if name == "plimsoll":
        path = os.environ.get("PLIMSOLL", os.path.join(ROOT, "target", "release", "plimsoll"))
        return path if os.access(path, os.X_OK) else None
    return shutil.which(name, path=f"{TOOLS}/bin:" + os.environ["PATH"])


def build_floor():
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    os.makedirs(TOOLS, exist_ok=True)
    path = os.path.join(TOOLS, "floor")
    source = os.path.join(HERE, "floor.c")
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(source):
        subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-o", path, source], check=True)
    return path


def version(name, path):
    """The first line in which a program names its version."""
    if name == "floor":
        return "bench/generators/floor.c, cc -O2"
    flag = {"wrk": "-v", "ab": "-V", "k6": "version"}.get(name, "--version")
    done = subprocess.run([path, flag], capture_output=True, text=True, check=False)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return lines[0][:90] if lines else "unknown"


def command(name, path, target, seconds, section):
    """The call of one generator: one thread, closed loop, 64 connections unless the section says more."""
    tls, keep, streams = section["tls"], section["keep"], section.get("streams")
    url, count = target.url(tls), str(section.get("connections", CONNECTIONS))
    if "script" in section and name in ("plimsoll", "k6"):
        call = [path, "run", "--quiet", "-u", count, "-d", f"{seconds}s", "-e", f"URL={url}",
                os.path.join(HERE, section["script"])]
        return call + (["--no-record", "--workers", "1"] if name == "plimsoll" else [])
    if name == "floor":
        mode = "think" if section.get("script") == "think.js" else "keep" if keep else "close"
        return [path, "127.0.0.1", str(target.plain), count, str(seconds), mode]
    if name == "plimsoll":
        call = [path, "run", url, "-c", count, "-z", f"{seconds}s", "--workers", "1", "--quiet",
                "--no-record"]
        call += ["--h2", "--streams", str(streams)] if streams else []
        return call + (["-k"] if tls else []) + ([] if keep else ["--no-keepalive"])
    if name == "wrk":
        call = [path, "-t1", "-c", count, f"-d{seconds}s"]
        return call + ([] if keep else ["-H", "Connection: close"]) + [url]
    if name == "ab":
        call = [path, "-q", "-t", str(seconds), "-n", "2000000", "-c", count]
        return call + (["-k"] if keep else []) + [url]
    if name == "h2load":
        protocol = ["-m", str(streams)] if streams else ["--h1"]
        return [path, *protocol, "-t1", "-c", count, "-D", str(seconds), url]
    if name == "oha":
        call = [path, "--no-tui", "-z", f"{seconds}s", "-c", count]
        call += ["--insecure"] if tls else []
        call += ["--http2", "-p", str(streams)] if streams else []
        return call + ([] if keep else ["--disable-keepalive"]) + [url]
    if name == "bombardier":
        call = [path, "-c", count, "-d", f"{seconds}s", "--print=result"]
        call += ["-k"] if tls else []
        return call + ([] if keep else ["-H", "Connection: close"]) + [url]
    raise SystemExit(f"no call known for {name}")
