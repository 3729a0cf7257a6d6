#!/usr/bin/env python3
"""Plays every conformance script with k6 and with plimsoll against the same server, and compares what they say.

k6 must be on PATH or named by K6; it is only run, as anyone can run it. Compared are the exit code, the lines of
the console, the checks, and the counts and values of metrics that do not depend on time.

With --http2 the same scripts say https instead of http and reach the server through `plimsoll serve proxy` with TLS, where
both programs choose HTTP/2; one more script shows that they do. With --calls environment variables, flags, outputs and the reasons
of exits are compared instead (differential_calls.py). PLIMSOLL names a program that is built already; the server
is then built without --release too.
"""

import argparse
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import differential_calls

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPTS = os.path.join(ROOT, "crates", "plimsoll-script", "conformance")
PATIENCE = 40
# Their values are times of this run, or the figures of the one connection that each program opens.
TIMED = re.compile(r"^(http_req_(duration|blocked|connecting|tls_handshaking|sending|waiting|receiving)"
                   r"|iteration_duration|group_duration|data_sent|data_received|vus|vus_max|dropped_iterations)")


def claims_of(path):
    text = open(path, encoding="utf-8").read()
    return json.loads(text[text.index("/*") + 2:text.index("*/")])


def found_in(name):
    path = os.path.join(SCRIPTS, name)
    return path if os.path.exists(path) else os.path.join(SCRIPTS, "http2", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="scripts to play (default: all)")
    parser.add_argument("--http2", action="store_true", help="over HTTP/2 and TLS instead of HTTP/1.1")
    parser.add_argument("--calls", action="store_true", help="environment, flags, outputs and exits instead of the scripts")
    parser.add_argument("--save", metavar="FILE", help="write the outcome of every script as JSON")
    asked = parser.parse_args()
    k6 = os.environ.get("K6") or shutil.which("k6")
    ours = os.environ.get("PLIMSOLL") or os.path.join(ROOT, "target", "release", "plimsoll")
    if k6 is None:
        raise SystemExit("k6 is missing; install it with: go install go.k6.io/k6/v2@v2.2.0")
    if "PLIMSOLL" not in os.environ:
        subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "plimsoll"], cwd=ROOT, check=True)
    profile = [] if "PLIMSOLL" in os.environ else ["--release"]
    httpbin = ["cargo", "run", "--quiet", *profile, "-p", "plimsoll-script", "--example", "httpbin"]
    with tempfile.TemporaryDirectory() as folder, serving(httpbin, cwd=ROOT) as line:
        port = int(line)
        if asked.calls:
            return calls(differential_calls.compared(k6, ours, f"http://127.0.0.1:{port}", set(asked.names)))
        if asked.http2:
            over_http2(folder)
            proxy = [ours, "serve", "proxy", "--port", "0", "--set", "tls=1", "--upstream", f"127.0.0.1:{port}"]
            with serving(proxy, cwd=folder) as listening:
                outcomes = compare_all(k6, ours, int(listening.rsplit(":", 1)[1]), set(asked.names), folder)
        else:
            outcomes = compare_all(k6, ours, port, set(asked.names))
    known = {name: claims_of(found_in(name)).get("k6") for name in outcomes}
    same = [name for name, found in outcomes.items() if not found]
    told = [name for name, found in outcomes.items() if found and known[name]]
    for name, found in outcomes.items():
        for difference in found if not known[name] else []:
            print(f"{name}: {difference}")
    for name in told:
        print(f"{name}: differs, as it says: {known[name]}")
    print(f"{len(same)} of {len(outcomes)} scripts agree, {len(told)} differ as they say, "
          f"{len(outcomes) - len(same) - len(told)} differ")
    if asked.save:
        version = subprocess.run([k6, "version"], capture_output=True, text=True, check=False).stdout.split()
        with open(asked.save, "w", encoding="utf-8") as out:
            agreed = {name: not found for name, found in outcomes.items()}
            json.dump({"k6": version[1] if len(version) > 1 else "", "agrees": agreed}, out, indent=1)
            out.write("\n")
    return 0 if len(same) + len(told) == len(outcomes) else 1


def calls(outcomes):
    """Says what differs; 1 if a difference has no reason."""
    differ = [name for name, (found, _) in outcomes.items() if found]
    unexplained = [name for name in differ if not outcomes[name][1]]
    for name in unexplained:
        for difference in outcomes[name][0]:
            print(f"{name}: {difference}")
    for name in differ:
        if outcomes[name][1]:
            print(f"{name}: differs: {outcomes[name][1]}")
    print(f"{len(outcomes) - len(differ)} of {len(outcomes)} calls agree, {len(differ) - len(unexplained)} differ as they say, "
          f"{len(unexplained)} differ")
    return 1 if unexplained else 0


@contextlib.contextmanager
def serving(call, cwd):
    """A program that serves until the end; its first line."""
    server = subprocess.Popen(call, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def over_http2(folder):
    """Copies the scripts with https for http, and adds one that looks at what HTTP/2 changes."""
    shutil.copytree(SCRIPTS, folder, dirs_exist_ok=True)
    for path in glob.glob(f"{folder}/*.[jt]s"):
        with open(path, encoding="utf-8") as text:
            script = text.read()
        with open(path, "w", encoding="utf-8") as out:
            out.write(script.replace("http://", "https://"))
    shutil.copy(os.path.join(SCRIPTS, "http2", "over-http2.js"), folder)


def compare_all(k6, ours, port, names, scripts=SCRIPTS):
    outcomes = {}
    is_tls = scripts != SCRIPTS
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.json")
        hosts = {"*.test": f"127.0.0.1:{port}", "refused.test": "127.0.0.1:1"}
        with open(config, "w", encoding="utf-8") as out:
            json.dump({"hosts": hosts}, out)
        for path in sorted(glob.glob(f"{scripts}/*.[jt]s")):
            name = os.path.basename(path)
            if names and name not in names:
                continue
            flags = flags_of(path)
            if flags is None:
                continue
            flags += ["--insecure-skip-tls-verify"] if is_tls else []
            both = [play(program, path, flags, config, folder, extra)
                    for program, extra in [(k6, []), (ours, ["--no-record"])]]
            outcomes[name] = differences(*both)
            print(f"  {name}: {'differs' if outcomes[name] else 'same'}", file=sys.stderr)
    return outcomes


def flags_of(path):
    """What the first comment asks for, as flags; None for settings that have no flag."""
    claims = claims_of(path)
    settings = claims.get("settings", {})
    # Options without a flag; helper libraries, which k6 fetches from the network.
    if {"options_json", "keep_cookies"} & settings.keys() or "jslib.k6.io" in open(path, encoding="utf-8").read():
        return None
    flags = ["--throw"] if settings.get("throw") else []
    flags += ["--discard-response-bodies"] if settings.get("discard_response_bodies") else []
    if "max_redirects" in settings:
        flags += ["--max-redirects", str(settings["max_redirects"])]
    for name, value in settings.get("tags", {}).items():
        flags += ["--tag", f"{name}={value}"]
    if claims.get("iterations", 1) > 1:
        flags += ["--iterations", str(claims["iterations"])]
    return flags


def play(program, path, flags, config, folder, extra):
    export = os.path.join(folder, "export.json")
    if os.path.exists(export):
        os.remove(export)
    call = [program, "run", "--quiet", "--config", config, "--summary-export", export, *flags, *extra, path]
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "NO_COLOR": "1", "K6_NO_USAGE_REPORT": "true"}
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=PATIENCE, cwd=os.path.dirname(path),
                              env=environment, errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return {"exit": "no end", "console": [], "checks": {}, "metrics": {}}
    summary = {}
    if os.path.exists(export):
        with open(export, encoding="utf-8") as text:
            summary = json.load(text)
    return {"exit": done.returncode, "console": console(done.stderr),
            "checks": checks(summary.get("root_group", {})), "metrics": metrics(summary.get("metrics", {}))}


def console(stderr):
    """Lines of the script's console as level and message."""
    found = re.findall(r'level=(\w+) msg=("(?:[^"\\]|\\.)*"|\S*).* source=console', stderr)
    return [(level, json.loads(text) if text.startswith('"') else text) for level, text in found]


def checks(group, path=""):
    listed = group.get("checks", {})
    listed = listed.values() if isinstance(listed, dict) else listed
    found = {f"{path}::{check['name']}": (check["passes"], check["fails"]) for check in listed}
    inner = group.get("groups", {})
    for below in inner.values() if isinstance(inner, dict) else inner:
        found.update(checks(below, f"{path}::{below['name']}"))
    return found


def metrics(all_metrics):
    kept = {}
    for name, figures in all_metrics.items():
        if name.startswith("vus"):
            continue  # k6 samples them each second, which most scripts do not last.
        if TIMED.match(name):
            kept[name.split("{")[0]] = "there"
            continue
        figures = figures.get("values", figures)
        kept[name] = {key: round(value, 6) for key, value in figures.items()
                      if key != "rate" and isinstance(value, (int, float)) and not isinstance(value, bool)}
    return kept


def differences(theirs, ours):
    found = []
    for what in ("exit", "console", "checks"):
        if theirs[what] != ours[what]:
            found.append(f"{what}: k6 {theirs[what]!r}, plimsoll {ours[what]!r}")
    for name in sorted(set(theirs["metrics"]) | set(ours["metrics"])):
        one, other = theirs["metrics"].get(name), ours["metrics"].get(name)
        if one != other:
            found.append(f"metric {name}: k6 {one!r}, plimsoll {other!r}")
    return found


if __name__ == "__main__":
    sys.exit(main())
