"""Calls that are played with k6 and with plimsoll: environment variables, flags, outputs, and the reasons of exits.

Each case is a script with flags, variables and files of its own. Compared are the exit code, whether an error is said where the
code is not 0, the script's console, checks, metrics that no clock decides, the files that came to be and what is in them.
`differs` says why a case may differ; a case without it must not.
"""

import csv
import dataclasses
import gzip
import json
import os
import re
import signal
import subprocess
import tempfile
import time

PATIENCE = 40
GET = "import http from 'k6/http';\nexport default function () { http.get(__ENV.AT || '%s'); }\n"
SAY = "export default function () { console.log(`%s`); }\n"
EMPTY = "export default function () {}\n"
CHECKED = ("import http from 'k6/http'; import { check } from 'k6';\n"
           "export const options = { thresholds: { checks: ['rate>0.9'] } };\n"
           "export default function () { check(http.get('%s'), { no: () => false }); }\n")


@dataclasses.dataclass
class Case:
    """One call; `%s` in its script is the address of the server."""
    name: str
    script: str = EMPTY
    flags: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)
    command: str = "run"
    target: str = "script.js"
    # After so many seconds this signal is sent.
    signal: tuple = ()
    # Standard output must be the same text.
    stdout: bool = False
    differs: str = ""


def options(text, body=""):
    return f"export const options = {{ {text} }};\nexport default function () {{ {body} }}\n"


def summary(body):
    return EMPTY + f"export function handleSummary(data) {{ {body} }}\n"


ENVIRONMENT = [
    Case("a variable of the environment reaches __ENV", SAY % "${__ENV.BASE_URL} ${typeof __ENV.NOT_THERE}",
         env={"BASE_URL": "http://there"}),
    Case("-e wins over the environment", SAY % "${__ENV.A}", ("-e", "A=flag"), {"A": "environment"}),
    Case("-e with a name alone", SAY % "${__ENV.A}", ("-e", "A"), {"A": "environment"}),
    Case("-e with = in its value", SAY % "${__ENV.A}", ("-e", "A=b=c")),
    Case("K6_INCLUDE_SYSTEM_ENV_VARS=false", SAY % "${__ENV.A}", env={"A": "1", "K6_INCLUDE_SYSTEM_ENV_VARS": "false"}),
    Case("--include-system-env-vars=false", SAY % "${__ENV.A}", ("--include-system-env-vars=false",), {"A": "1"}),
    Case("K6_VUS and K6_ITERATIONS", SAY % "x", env={"K6_VUS": "2", "K6_ITERATIONS": "4"}),
    Case("K6_ITERATIONS below the flag", SAY % "x", ("-i", "2"), {"K6_ITERATIONS": "4"}),
    Case("K6_ITERATIONS above the script", options("iterations: 7", "console.log(1)"), env={"K6_ITERATIONS": "3"}),
    Case("K6_VUS that is no number", EMPTY, env={"K6_VUS": "abc"}),
    Case("K6_DURATION that is no time", EMPTY, env={"K6_DURATION": "xyz"}),
    Case("K6_DURATION", "import { sleep } from 'k6'; export default function () { sleep(0.6); }\n", env={"K6_DURATION": "1s"}),
    Case("K6_STAGES", "import { sleep } from 'k6'; export default function () { sleep(3); }\n", env={"K6_STAGES": "1s:1,500ms:0"}),
    Case("K6_OUT", GET, env={"K6_OUT": "json=points.json"}),
    Case("K6_OUT that is not known", GET, env={"K6_OUT": "nothing=x"}),
    Case("K6_SUMMARY_EXPORT", GET, env={"K6_SUMMARY_EXPORT": "other.json"}),
    Case("K6_CONSOLE_OUTPUT", SAY % "kept", env={"K6_CONSOLE_OUTPUT": "console.txt"}),
    Case("K6_LOG_OUTPUT to a file", SAY % "kept", env={"K6_LOG_OUTPUT": "file=log.txt"}),
    Case("K6_LOG_OUTPUT none", SAY % "kept", env={"K6_LOG_OUTPUT": "none"}),
    Case("K6_LOG_OUTPUT that is not known", SAY % "kept", env={"K6_LOG_OUTPUT": "nowhere"}),
    Case("K6_LOG_FORMAT json", SAY % "kept", env={"K6_LOG_FORMAT": "json"}),
    Case("K6_LOG_FORMAT raw", SAY % "kept", env={"K6_LOG_FORMAT": "raw"}),
    Case("K6_CONFIG", SAY % "x", env={"K6_CONFIG": "other.json"}, files={"other.json": '{"iterations": 3}'}),
    Case("K6_CONFIG that is not there", EMPTY, env={"K6_CONFIG": "missing.json"}),
    Case("~/.config/k6/config.json", SAY % "x", files={".config/k6/config.json": '{"iterations": 3}'}),
    Case("a broken --config", EMPTY, ("--config", "other.json"), files={"other.json": "{"}),
    Case("K6_THROW", "import http from 'k6/http'; export default function () { http.get('http://127.0.0.1:1/'); console.log('on'); }\n",
         env={"K6_THROW": "true"}),
    Case("K6_USER_AGENT", "import http from 'k6/http'; export default function () "
         "{ console.log(http.get('%s/user-agent').json('user-agent')); }\n", env={"K6_USER_AGENT": "someone"}),
    Case("K6_NO_SETUP", "export function setup() { throw new Error('no'); }\n" + EMPTY, env={"K6_NO_SETUP": "true"}),
    Case("K6_NO_THRESHOLDS", CHECKED, env={"K6_NO_THRESHOLDS": "true"}),
    Case("K6_SUMMARY_MODE disabled", GET, env={"K6_SUMMARY_MODE": "disabled"}, stdout=True),
    Case("K6_SUMMARY_TREND_STATS", summary("return { stdout: Object.keys(data.metrics.iteration_duration.values).join() }"),
         env={"K6_SUMMARY_TREND_STATS": "avg,p(75)"}, stdout=True),
    Case("K6_NEW_MACHINE_READABLE_SUMMARY", summary("return { stdout: Object.keys(data).sort().join() }"),
         env={"K6_NEW_MACHINE_READABLE_SUMMARY": "true"}, stdout=True,
         differs="k6 also shows functions of its own there (equals, validate, unmarshalJSONStrict)"),
    Case("K6_TYPE", SAY % "x", env={"K6_TYPE": "js"}, target="script.txt"),
    Case("K6_COMPATIBILITY_MODE that is not known", EMPTY, env={"K6_COMPATIBILITY_MODE": "modern"}),
    Case("K6_TAGS", SAY % "x", env={"K6_TAGS": "a=b"}, differs="k6 reads no form of K6_TAGS; plimsoll reads the one of --tag"),
    Case("HTTP_PROXY that nobody answers", "import http from 'k6/http'; export default function () "
         "{ console.log(http.get('http://shop.test/').error_code); }\n", env={"HTTP_PROXY": "http://127.0.0.1:1"},
         differs="k6 has 1200 for whatever keeps it from a proxy, plimsoll the code of what it was: 1212, refused"),
    Case("NO_PROXY", "import http from 'k6/http'; export default function () { console.log(http.get('http://httpbin.test/get').status); }\n",
         env={"HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "httpbin.test"}),
]

FLAGS = [
    Case("--no-color", SAY % "x", ("--no-color",)),
    Case("--log-output=stdout", SAY % "x", ("--log-output=stdout",)),
    Case("--log-output=none", SAY % "x", ("--log-output=none",)),
    Case("--log-output=file with a level", "export default function () { console.warn('w'); console.log('i'); }\n",
         ("--log-output=file=log.txt,level=warning",)),
    Case("--log-format that is not known", SAY % "x", ("--log-format", "prose"),
         differs="k6 goes on with its usual form without a word, plimsoll names the forms that there are"),
    Case("--http-debug", GET, ("--http-debug",)),
    Case("--http-debug=full", GET, ("--http-debug=full",)),
    Case("--http-debug=loud", GET, ("--http-debug=loud",)),
    Case("--address", SAY % "x", ("--address", "127.0.0.1:0")),
    Case("--compatibility-mode=base", SAY % "x", ("--compatibility-mode=base",)),
    Case("--compatibility-mode that is not known", EMPTY, ("--compatibility-mode=modern",)),
    Case("--type js", SAY % "x", ("--type", "js"), target="script.txt"),
    Case("--type that is not known", EMPTY, ("--type", "python")),
    Case("--iterations below --vus", EMPTY, ("-u", "5", "-i", "2")),
    Case("--vus 0", EMPTY, ("-u", "0", "-i", "1")),
    Case("--vus that is negative", EMPTY, ("--vus=-1", "-i", "1")),
    Case("--duration of half a second", EMPTY, ("-d", "500ms")),
    Case("--stage", "import { sleep } from 'k6'; export default function () { sleep(3); }\n", ("-s", "1s:1", "-s", "200ms:0")),
    Case("--stage that is none", EMPTY, ("-s", "soon")),
    Case("an unknown flag", EMPTY, ("--no-such-flag",)),
    Case("a script that is not there", EMPTY, target="missing.js"),
    Case("--no-thresholds", CHECKED, ("--no-thresholds",)),
    Case("--no-setup --no-teardown", "export function setup() { throw 1; } export function teardown() { throw 2; }\n" + EMPTY,
         ("--no-setup", "--no-teardown")),
    Case("--summary-mode=disabled", GET, ("--summary-mode=disabled",), stdout=True),
    Case("--summary-mode=full", GET, ("--summary-mode=full",)),
    Case("--summary-mode that is not known", GET, ("--summary-mode=long",)),
    Case("--summary-time-unit that is not known", GET, ("--summary-time-unit=h",)),
    Case("--summary-trend-stats that is none", GET, ("--summary-trend-stats=often",)),
    Case("--system-tags", GET, ("--system-tags=url", "--out", "json=points.json")),
    Case("--tag without a value", GET, ("--tag", "a")),
    Case("--tag", GET, ("--tag", "a=b", "--out", "json=points.json")),
    Case("--execution-segment", SAY % "x", ("-u", "4", "-i", "4", "--execution-segment=0:1/4")),
    Case("--execution-segment that is none", EMPTY, ("--execution-segment=2:1",)),
    Case("--blacklist-ip that is none", EMPTY, ("--blacklist-ip=everywhere",)),
    Case("--max-redirects", "import http from 'k6/http'; export default function () "
         "{ console.log(http.get('%s/redirect/3').status); }\n", ("--max-redirects=1",)),
    Case("--user-agent", "import http from 'k6/http'; export default function () "
         "{ console.log(http.get('%s/user-agent').json('user-agent')); }\n", ("--user-agent", "someone")),
    Case("--verbose", "export default function () { console.debug('d'); }\n", ("--verbose",)),
    Case("--console-output", SAY % "kept", ("--console-output", "console.txt")),
    Case("--linger with a signal", EMPTY, ("--linger",), signal=(2, signal.SIGINT)),
    Case("a key of a scenario at the top level", options("vus: 1, iterations: 1, gracefulStop: '1s'", "console.log(1)")),
    Case("an unknown option", options("iterations: 1, speed: 9", "console.log(1)")),
    Case("unknown cipher suites", options("iterations: 1, tlsCipherSuites: ['TLS_NOTHING']", "console.log(1)"),
         differs="k6 refuses the name, plimsoll warns and runs, as issue 20 asks"),
]

OUTPUTS = [
    Case("--out json", GET, ("--out", "json=points.json")),
    Case("--out json in an archive", GET, ("--out", "json=points.json.gz")),
    Case("--out csv", GET, ("--out", "csv=points.csv")),
    Case("--out csv in an archive", GET, ("--out", "csv=points.csv.gz")),
    Case("two outputs", GET, ("--out", "json=points.json", "--out", "csv=points.csv")),
    Case("K6_CSV_FILENAME", GET, ("--out", "csv"), {"K6_CSV_FILENAME": "points.csv"}),
    Case("K6_CSV_TIME_FORMAT that is not known", GET, ("--out", "csv=points.csv"), {"K6_CSV_TIME_FORMAT": "sundial"}),
    Case("--out that is not known", GET, ("--out", "paper=points")),
    Case("--out into a folder that is not there", GET, ("--out", "json=missing/points.json")),
    Case("--out on a full disk", GET, ("--out", "json=/dev/full")),
    Case("--summary-export", GET, ("--summary-export", "other.json")),
    Case("--summary-export into a folder that is not there", GET, ("--summary-export", "missing/other.json")),
    Case("handleSummary writes files", summary("return { 'one.txt': 'one', stdout: 'two', 'three.json': '3' }"), stdout=True),
    Case("handleSummary returns a string", summary("return 'text'")),
    Case("handleSummary returns nothing", summary("")),
    Case("handleSummary returns an object in the place of text", summary("return { stdout: {} }")),
    Case("handleSummary throws", summary("throw new Error('no')")),
    Case("handleSummary names a file that cannot be", summary("return { '/dev/null/x': 'x', stdout: 'two' }"), stdout=True),
    Case("--out web-dashboard with a port that is none", GET, ("--out", "web-dashboard=port=70000")),
]

EXITS = [
    Case("test.abort with words", "import exec from 'k6/execution'; export default function () { exec.test.abort('enough'); }\n"),
    Case("test.abort in setup", "import exec from 'k6/execution'; export function setup() { exec.test.abort('enough'); }\n" + EMPTY),
    Case("test.fail", "import exec from 'k6/execution'; export default function () { exec.test.fail('bad'); }\n"),
    Case("a crossed threshold", CHECKED),
    Case("a crossed threshold beside handleSummary", CHECKED + "export function handleSummary() { return { stdout: 'short' }; }\n",
         stdout=True),
    Case("abortOnFail", "import { sleep } from 'k6'; import { Rate } from 'k6/metrics'; const r = new Rate('r');\n"
         "export const options = { duration: '20s', thresholds: { r: [{ threshold: 'rate>0.5', abortOnFail: true }] } };\n"
         "export default function () { r.add(false); sleep(0.2); }\n"),
    Case("an exception in init", "throw new Error('init');\n" + EMPTY),
    Case("a syntax error", "export default function ( {\n"),
    Case("no default function", "export const x = 1;\n"),
    Case("exec names nothing", options("scenarios: { a: { executor: 'shared-iterations', exec: 'missing' } }")),
    Case("an unknown executor", options("scenarios: { a: { executor: 'often' } }")),
    Case("a threshold of an unknown metric", options("thresholds: { nothing: ['rate<1'] }")),
    Case("a threshold that is no expression", options("thresholds: { checks: ['rate ~ 1'] }")),
    Case("an exception in setup", "export function setup() { throw new Error('no'); }\n" + EMPTY),
    Case("an exception in teardown", "export function teardown() { throw new Error('no'); }\n" + EMPTY),
    Case("an exception in the function", "export default function () { throw new Error('no'); }\n"),
    Case("setup takes too long", "import { sleep } from 'k6'; export const options = { setupTimeout: '1s' };\n"
         "export function setup() { sleep(5); }\n" + EMPTY),
    Case("teardown takes too long", "import { sleep } from 'k6'; export const options = { teardownTimeout: '1s' };\n"
         "export function teardown() { sleep(5); }\n" + EMPTY, differs="k6 leaves with 101, which is Rust's code for a panic; plimsoll with 102"),
    Case("SIGINT", "import { sleep } from 'k6'; export const options = { duration: '20s' };\n"
         "export default function () { sleep(0.3); }\n", signal=(2, signal.SIGINT)),
    Case("SIGTERM", "import { sleep } from 'k6'; export const options = { duration: '20s' };\n"
         "export default function () { sleep(0.3); }\n", signal=(2, signal.SIGTERM)),
    Case("a module that is not there", "import x from './missing.js';\n" + EMPTY),
    Case("k6/x/ that nobody has", "import x from 'k6/x/nothing';\n" + EMPTY),
    Case("open() of a file that is not there", "open('./missing.txt');\n" + EMPTY),
    Case("a metric with a bad name", "import { Trend } from 'k6/metrics'; new Trend('a b');\n" + EMPTY),
]

COMMANDS = [
    Case("inspect", options("vus: 2, duration: '3s'"), command="inspect"),
    Case("inspect with requirements", options("vus: 2, duration: '3s'"), ("--execution-requirements",), command="inspect"),
    Case("inspect a broken script", "export default function ( {\n", command="inspect"),
    Case("version", command="version", target="", differs="plimsoll has --version"),
    Case("archive", command="archive", differs="not there: a sentence says what to do instead"),
    Case("new", command="new", target="fresh.js", differs="not there: a sentence says what to do instead"),
]
CASES = ENVIRONMENT + FLAGS + OUTPUTS + EXITS + COMMANDS


# k6 has 255 for what it cannot read on a line, in a variable or as a place, and 104 for options that make no sense together.
USAGE = "k6 leaves with 255 for a mistake of usage, plimsoll with 104, as its table of exit codes says"


def compared(k6, ours, address, names=()):
    """Of each case what differs, in words, and why it may."""
    outcomes = {}
    for case in CASES:
        if names and case.name not in names:
            continue
        theirs = played(case, k6, address, [])
        own = played(case, ours, address, ["--no-record"] if case.command == "run" else [])
        found = [f"{what}: k6 {theirs[what]!r}, plimsoll {own[what]!r}" for what in theirs if theirs[what] != own[what]]
        is_usage = len(found) == 1 and (theirs["exit"], own["exit"]) == (255, 104)
        outcomes[case.name] = found, USAGE if is_usage else case.differs
    return outcomes


def played(case, program, address, extra):
    """What one program made of a case, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        script = case.script.replace("%s", address)
        given = {"script.js": script, "script.txt": script,
                 "hosts.json": json.dumps({"hosts": {"httpbin.test": address.removeprefix("http://")}})}
        for name, text in (given | case.files).items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        before = listing(folder)
        flags = list(case.flags)
        if case.command == "run":
            flags = ["--quiet", *flags]
            if "httpbin.test" in script:
                flags += ["--config", "hosts.json"]
        call = [program, case.command, *flags, *extra, *([case.target] if case.target else [])]
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "NO_COLOR": "1", "K6_NO_USAGE_REPORT": "true"} | case.env
        code, stdout, stderr = finished(call, folder, environment, case.signal)
        made = sorted(listing(folder) - before)
        return {"exit": code, "says why": code == 0 or bool(stderr.strip()), "console": console(stdout + stderr),
                "stdout": stdout if case.stdout else "", "files": {name: held(os.path.join(folder, name)) for name in made}}


def finished(call, folder, environment, sent):
    process = subprocess.Popen(call, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace")
    try:
        if sent:
            time.sleep(sent[0])
            process.send_signal(sent[1])
        stdout, stderr = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "no end", "", ""
    return process.returncode, stdout, stderr


def listing(folder):
    found = set()
    for at, _, names in os.walk(folder):
        found |= {os.path.relpath(os.path.join(at, name), folder) for name in names}
    return found


def console(text):
    """The lines of the script, in whatever form the log has."""
    found = re.findall(r'level=(\w+) msg=("(?:[^"\\]|\\.)*"|\S*).* source=console', text)
    lines = [(level, json.loads(said) if said.startswith('"') else said) for level, said in found]
    for line in text.splitlines():
        if line.startswith('{"') and '"source":"console"' in line:
            entry = json.loads(line)
            lines.append((entry["level"], entry["msg"]))
    return lines


def held(path):
    """What is in a file, without what a clock decides."""
    if os.path.getsize(path) == 0:
        return "nothing"
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as text:
        content = text.read()
    name = os.path.basename(path).removesuffix(".gz")
    if name.startswith("points"):
        return points(content) if name.endswith(".json") else rows(content)
    if name.endswith(".json"):
        try:
            return shape(json.loads(content))
        except ValueError:
            return content
    return re.sub(r'time="[^"]*"', "", content)


def points(content):
    """Metrics with the names of their tags."""
    found = {}
    for line in content.splitlines():
        entry = json.loads(line)
        if entry["type"] == "Point" and not entry["metric"].startswith("vus"):
            found[entry["metric"]] = sorted(entry["data"]["tags"])
    return found


def rows(content):
    """The header and the metrics."""
    lines = list(csv.reader(content.splitlines()))
    return lines[0], sorted({line[0] for line in lines[1:] if not line[0].startswith("vus")})


def shape(value):
    """Keys and kinds of values; no numbers."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in sorted(value.items()) if not key.startswith("vus")}
    return type(value).__name__ if not isinstance(value, (int, float)) else "number"
