"""The servers that are compared: how each is built, started on one core and a free port, measured and ended."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLS = os.path.join(ROOT, "bench", ".tools", "bin")
CLIENT_CORE = 0
SERVER_CORE = 1
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

INSTALL = {
    "plimsoll": "cargo build --release -p plimsoll",
    "ferretdb": "apt-get install golang (1.24 or newer); bench/docdb/run.py then builds FerretDB 1.24.2 from its Go module",
    "redis": "apt-get install redis-server",
}


def find(name):
    """The program behind a name, built if that can be done here, or None."""
    if name == "plimsoll":
        path = os.environ.get("PLIMSOLL", os.path.join(ROOT, "target", "release", "plimsoll"))
        return path if os.access(path, os.X_OK) else None
    if name == "redis":
        return shutil.which("redis-server", path=os.environ["PATH"] + ":/usr/sbin")
    return build_ferretdb()


def build_ferretdb():
    path = os.path.join(TOOLS, "ferretdb")
    if os.access(path, os.X_OK):
        return path
    if shutil.which("go") is None:
        return None
    done = subprocess.run(["go", "build", "-o", path, "."], cwd=os.path.join(HERE, "ferretdb"), check=False)
    return path if done.returncode == 0 else None


def version(name, path):
    if name == "ferretdb":
        return "FerretDB 1.24.2 embedded, SQLite, WAL, synchronous=FULL"
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().splitlines()[0][:60]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(name, path, port, folder, more=()):
    """How each is told to acknowledge a write only when it is on disk."""
    if name == "plimsoll":
        return [path, "docdb", "--listen", f"127.0.0.1:{port}", "--data", os.path.join(folder, "data"), *more]
    if name == "ferretdb":
        return [path, f"127.0.0.1:{port}", f"file:{folder}/?_pragma=synchronous(full)"]
    return [path, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
            "--appendonly", "yes", "--appendfsync", "always", "--save", ""]


class Server:
    """One server on SERVER_CORE; its folder outlives it until `remove`, so that it can be started again."""

    def __init__(self, name, more=()):
        self.name, self.more = name, more
        self.path = find(name)
        self.folder = tempfile.mkdtemp(prefix=f"plimsoll-docdb-{name}-", dir=os.environ.get("BENCH_DATA"))
        self.port = free_port()
        self.process = None
        self.keys = {"head": 0, "tail": 0}

    @property
    def uri(self):
        return f"{'redis' if self.name == 'redis' else 'mongodb'}://127.0.0.1:{self.port}/"

    def start(self):
        """Returns the seconds until a connection is accepted."""
        log = open(os.path.join(self.folder, "server.log"), "ab")
        begun = time.monotonic()
        self.process = subprocess.Popen(
            command(self.name, self.path, self.port, self.folder, self.more), stdout=log, stderr=log,
            preexec_fn=lambda: os.sched_setaffinity(0, {SERVER_CORE}))
        log.close()
        while time.monotonic() - begun < 120:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0 and (self.name != "redis" or has_loaded(probe)):
                    return time.monotonic() - begun
            if self.process.poll() is not None:
                break
            time.sleep(0.005)
        raise SystemExit(f"{self.name} does not listen; its last words:\n{self.log_end()}")

    def log_end(self):
        with open(os.path.join(self.folder, "server.log"), encoding="utf-8", errors="replace") as source:
            return "".join(source.readlines()[-5:])

    def stop(self, how=signal.SIGTERM):
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def remove(self):
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.remove()

    def cpu_seconds(self):
        """User and system time of the process, its threads and its children, dead or alive."""
        return sum(cpu_of(pid) for pid in [self.process.pid, *children(self.process.pid)])

    def memory_mib(self):
        """Resident and proportional memory."""
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="utf-8") as source:
            fields = {line.split(":")[0]: line.split()[1] for line in source if ":" in line and "kB" in line}
        return {"rss": int(fields["Rss"]) / 1024, "pss": int(fields["Pss"]) / 1024}

    def disk_mib(self):
        total = 0
        for folder, _, files in os.walk(self.folder):
            total += sum(os.lstat(os.path.join(folder, name)).st_blocks * 512 for name in files)
        return total / 2**20


def has_loaded(probe):
    """A restarted Redis accepts connections while it still reads its file, and refuses commands until then."""
    probe.sendall(b"PING\r\n")
    return probe.recv(64).startswith(b"+PONG")


def cpu_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as source:
            fields = source.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(field) for field in fields[11:15]) / TICKS_PER_SECOND


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as source:
            return [int(one) for one in source.read().split()]
    except FileNotFoundError:
        return []
