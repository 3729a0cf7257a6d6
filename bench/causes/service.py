"""Starts a service of the table with the tier behind it, and ends every process that it started, by its id."""

import http.client
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from urllib.parse import urlsplit

import peers
import table

BUILT = os.path.join(peers.TOOLS, "causes")
COMPILE = {
    "go": ["go", "build", "-o", "{out}", "{source}"],
    "rs": ["rustc", "--edition", "2021", "-O", "-o", "{out}", "{source}"],
}
INTERPRET = {"js": "node", "py": "python3"}
START_SECONDS = 10
# The second line of a fixture follows its first at once.
SECOND_LINE_SECONDS = 0.3


class Missing(Exception):
    """A language that is not installed here."""


class Service:
    """`url` is where the load goes, `watch` the arguments that the service asks for, `ceiling` what it says itself."""

    def __init__(self, name, plimsoll):
        self.entry, self.plimsoll = table.TABLE[name], plimsoll
        self.processes, self.folder = [], None
        self.url, self.watch, self.ceiling = None, [], self.entry["ceiling"]

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="plimsoll-causes-")
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        if "fixture" in self.entry:
            said = self.launch([self.plimsoll, "serve", self.entry["fixture"], "--port", "0"])
            self.watch = re.findall(r"--watch (\S+)", said)
            about = re.search(r"ceiling ([\d.,]+)/s", said)
            self.ceiling = float(about.group(1).replace(",", "")) if about else None
        else:
            program = built(self.entry["language"])
            behind = [address(self.launch([*program, *self.entry["tier"]]))] if self.entry["tier"] else []
            said = self.launch([*program, *self.entry["call"], *behind])
        self.url = address(said)

    def launch(self, call):
        """What the process said while it started: in a file, so that nothing that it says later can block it."""
        path = os.path.join(self.folder, f"{len(self.processes)}.log")
        with open(path, "w", encoding="utf-8") as out:
            process = subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        self.processes.append(process)
        end = time.monotonic() + START_SECONDS
        while address(read(path)) is None:
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{' '.join(call)} did not start: {read(path)}")
            time.sleep(0.05)
        time.sleep(SECOND_LINE_SECONDS)
        return read(path)


def address(said):
    found = re.search(r"http://[\d.:]+", said)
    return found and found.group(0) + "/"


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def built(language):
    """The call of a language's service, compiled where that is needed."""
    source = os.path.join(table.SERVICES, f"service.{language}")
    if language in INTERPRET:
        program = shutil.which(INTERPRET[language])
        if program is None:
            raise Missing(f"{INTERPRET[language]} is not installed")
        return [program, source]
    out = os.path.join(BUILT, f"service-{language}")
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
        os.makedirs(BUILT, exist_ok=True)
        call = [part.format(out=out, source=source) for part in COMPILE[language]]
        if shutil.which(call[0]) is None:
            raise Missing(f"{call[0]} is not installed")
        subprocess.run(call, check=True)
    return [out]


def closed_loop(url, seconds, users=32):
    """Answers of 200 per second with so many users that ask again at once: the ceiling without any of our own code."""
    counts, end = [0] * users, time.monotonic() + seconds

    def ask(user):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
        while time.monotonic() < end:
            try:
                connection.request("GET", "/")
                answer = connection.getresponse()
                answer.read()
                counts[user] += answer.status == 200
            except (OSError, http.client.HTTPException):
                connection.close()
        connection.close()

    start = time.monotonic()
    threads = [threading.Thread(target=ask, args=(user,)) for user in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - start)
