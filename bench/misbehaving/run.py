#!/usr/bin/env python3
"""Plimsoll, k6, bombardier and oha against servers that misbehave: what each says, beside what the server saw.

PLIMSOLL, K6, BOMBARDIER and OHA name programs; those that are missing are left out. Prints the tables of docs/requests.md.
`--check` leaves with 1 where a figure of plimsoll is not what the server saw.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

import http1
import http2
from serving import Server, context

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONNECTIONS = 4
REQUESTS, SLOW_REQUESTS = 200, 20
TIMEOUT_SECONDS = 1
PATIENCE = 60
BODY = "x" * 1000
SCRIPT = """
import http from 'k6/http';
export const options = { vus: %d, iterations: %d, insecureSkipTLSVerify: true };
export default function () {
  http.request(__ENV.METHOD, __ENV.AT, __ENV.METHOD === 'POST' ? 'x'.repeat(1000) : null, { timeout: '%ds' });
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="words of rows to play (default: all)")
    parser.add_argument("--http1", action="store_true", help="HTTP/1.1 alone")
    parser.add_argument("--http2", action="store_true", help="HTTP/2 alone")
    parser.add_argument("--only", action="append", metavar="TOOL", help="of plimsoll, script, k6, bombardier and oha")
    parser.add_argument("--check", action="store_true", help="plimsoll alone, and 1 where it miscounts")
    asked = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        tls = context(folder)
        tables = [("HTTP/1.1", [(name, http1.talking(manner), post) for name, manner, post in http1.ROWS], [], None),
                  ("HTTP/2", http2.ROWS, http2.SLOW_ROWS, tls)]
        if asked.http1 or asked.http2:
            tables = [table for table in tables if (table[3] is not None) == asked.http2]
        for title, rows, slow, made in tables:
            tools = present(["plimsoll", "script"] if asked.check else asked.only)
            print(f"\n{title}\n\n| the server | " + " | ".join(tools) + " |\n|---" + "|---" * len(tools) + "|")
            for row in rows + slow:
                if asked.rows and not any(word in row[0] for word in asked.rows):
                    continue
                count = SLOW_REQUESTS if row in slow else REQUESTS
                cells, found = played(row, tools, made, folder, count)
                wrong += found
                print(f"| {row[0]} | " + " | ".join(cells) + " |", flush=True)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if asked.check and wrong else 0


def present(wanted):
    tools = {"plimsoll": plimsoll, "script": script("plimsoll"), "k6": script("k6"), "bombardier": bombardier, "oha": oha}
    return {name: call for name, call in tools.items() if (name == "script" or program(name)) and name in (wanted or tools)}


def program(name):
    given = os.environ.get(name.upper())
    own = os.path.join(ROOT, "target", "release", "plimsoll") if name == "plimsoll" else None
    return given or own or shutil.which(name)


def played(row, tools, tls, folder, count):
    """A cell for each tool, and what plimsoll counted otherwise than the server."""
    name, talk, is_post = row
    cells, wrong = [], []
    for tool, call in tools.items():
        with Server(talk, tls) as server:
            said = call(server.url(), is_post, tls is not None, folder, count)
            seen = server.seen
        cells.append(f"{seen:,}: {said['words']}")
        # A connection that came to nothing carried no request.
        if "sent" in said and seen not in (0, said["sent"]):
            wrong.append(f"{name}: {tool} counted {said['sent']} sent, the server saw {seen} ({said['words']})")
    return cells, wrong


def run(call, folder):
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "NO_COLOR": "1", "K6_NO_USAGE_REPORT": "true"}
    try:
        return subprocess.run(call, capture_output=True, text=True, timeout=PATIENCE, cwd=folder, env=environment,
                              errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return None


def listed(counts):
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "nothing"


def plimsoll(url, is_post, is_http2, folder, count):
    call = [program("plimsoll"), "run", url, "-n", str(count), "-c", str(CONNECTIONS), "--timeout", f"{TIMEOUT_SECONDS}s",
            "--no-preflight", "--no-record", "--quiet", "--format", "json"]
    call += ["-d", BODY] if is_post else []
    call += ["--h2", "-k"] if is_http2 else []
    done = run(call, folder)
    if done is None or not done.stdout.strip():
        return {"words": "no end" if done is None else done.stderr.strip()[-200:], "sent": -1}
    summary = json.loads(done.stdout)
    outcomes = {f"`{name}`": number for name, number in summary["outcomes"].items()}
    resent = summary.get("resent_count", 0)
    return {"words": listed(outcomes | {"resent": resent}), "sent": sum(outcomes.values()) + resent}


def script(name):
    def call(url, is_post, _is_http2, folder, count):
        with open(os.path.join(folder, "get.js"), "w", encoding="utf-8") as out:
            out.write(SCRIPT % (CONNECTIONS, count, TIMEOUT_SECONDS))
        samples = os.path.join(folder, "samples.json")
        if os.path.exists(samples):
            os.remove(samples)
        line = [program(name), "run", "--quiet", "-e", f"AT={url}", "-e", f"METHOD={'POST' if is_post else 'GET'}",
                "--out", f"json={samples}", "get.js"]
        done = run(line + (["--no-record"] if name == "plimsoll" else []), folder)
        if done is None or not os.path.exists(samples):
            return {"words": "no end" if done is None else done.stderr.strip()[-200:]}
        counts = collections.Counter()
        for text in open(samples, encoding="utf-8"):
            point = json.loads(text)
            if point["type"] == "Point" and point["metric"] == "http_reqs":
                tags = point["data"]["tags"]
                failed = tags.get("expected_response") == "false"
                counts["failed" if failed and not tags.get("error_code") else tags.get("error_code", "ok")] += 1
        return {"words": listed(dict(sorted(counts.items(), reverse=True)))}
    return call


def bombardier(url, is_post, is_http2, folder, count):
    call = [program("bombardier"), "-n", str(count), "-c", str(CONNECTIONS), "-t", f"{TIMEOUT_SECONDS}s", "-k",
            "--print=result", "--format=json", *(["--http2"] if is_http2 else [])]
    done = run(call + (["-m", "POST", "-b", BODY] if is_post else []) + [url], folder)
    if done is None or not done.stdout.strip():
        return {"words": "no end"}
    found = json.loads(done.stdout)["result"]
    counts = {"ok": found["req2xx"], "3xx": found["req3xx"], "4xx": found["req4xx"], "5xx": found["req5xx"],
              "1xx": found["req1xx"], "failed": found["others"]}
    return {"words": listed(counts)}


def oha(url, is_post, is_http2, folder, count):
    call = [program("oha"), "--no-tui", "-n", str(count), "-c", str(CONNECTIONS), "-t", f"{TIMEOUT_SECONDS}s", "--insecure",
            "-r", "0", "--output-format", "json", *(["--http2"] if is_http2 else [])]
    done = run(call + (["-m", "POST", "-d", BODY] if is_post else []) + [url], folder)
    if done is None or not done.stdout.strip():
        return {"words": "no end" if done is None else "no answer"}
    found = json.loads(done.stdout)
    codes = {("ok" if code == "200" else code): number for code, number in found["statusCodeDistribution"].items()}
    return {"words": listed(codes | {"failed": sum(found["errorDistribution"].values())})}


if __name__ == "__main__":
    sys.exit(main())
