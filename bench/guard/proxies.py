"""Starts the two proxies side by side before one upstream: the guard, and nginx set up as the same proxy."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "generators"))
import measure
import peers
import target as targets

# The proxy has a core for itself; upstream and clients share the other one.
PROXY_CORE = 0
OTHER_CORE = 1

NGINX = """
daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
events {{ worker_connections 32768; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 3600s;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  limit_conn_zone $server_port zone=all:1m;
  upstream service {{ server {upstream}; keepalive 1024; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      {limit}
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $host;
      proxy_set_header X-Forwarded-Proto $scheme;
    }}
  }}
}}
"""


class Proxy:
    """One of the two on the proxy's core, before `upstream` (HOST:PORT). `limit`: requests in flight, if bounded."""

    def __init__(self, name, upstream, limit=None):
        self.name, self.upstream, self.limit = name, upstream, limit

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="plimsoll-guard-bench-")
        self.port = targets.free_port()
        self.process = subprocess.Popen(
            self.call(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, {PROXY_CORE}))
        targets.wait_until_open(self.port)
        self.pid = self.process.pid
        if self.name == "nginx":
            self.pid = self.worker()
        return self

    def worker(self):
        """The master of nginx does nothing; its only child is the worker, which is a moment in coming."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as source:
                children = source.read().split()
            if children:
                return int(children[0])
            time.sleep(0.02)
        raise SystemExit("nginx has no worker after 10 s")

    def call(self):
        if self.name == "guard":
            path = peers.find("plimsoll")
            if path is None:
                raise SystemExit(f"plimsoll is missing; build it with: {peers.INSTALL['plimsoll']}")
            limit = f"fixed:{self.limit or 100000}"
            return [path, "guard", "--listen", f"127.0.0.1:{self.port}", "--upstream", f"http://{self.upstream}",
                    "--limit", limit, "--drain", "0s"]
        path = os.path.join(self.folder, "nginx.conf")
        limit = f"limit_conn all {self.limit};" if self.limit else ""
        with open(path, "w", encoding="utf-8") as out:
            out.write(NGINX.format(folder=self.folder, upstream=self.upstream, port=self.port, limit=limit))
        return [targets.program(), "-p", self.folder, "-c", path]

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cpu_seconds(self):
        """Time on a processor so far: both proxies do their work on one thread."""
        with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as source:
            return int(source.read().split()[0]) / 1e9

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as source:
            return int(source.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def url(self):
        return f"http://127.0.0.1:{self.port}/"


def load(url, connections, seconds):
    """Answers that wrk got: all of them, and those that were no success."""
    path = peers.find("wrk")
    if path is None:
        raise SystemExit(f"wrk is missing; install it with: {peers.INSTALL['wrk']}")
    done = subprocess.run([path, "-t1", f"-c{connections}", f"-d{seconds}s", url], capture_output=True, text=True,
                          check=True, preexec_fn=lambda: os.sched_setaffinity(0, {OTHER_CORE}))
    answers, refused = 0, 0
    for line in done.stdout.splitlines():
        words = line.split()
        if "requests in" in line:
            answers = int(words[0])
        elif "Non-2xx" in line:
            refused = int(words[-1])
        elif "Socket errors" in line:
            raise SystemExit(f"{url}: {line.strip()}")
    return answers, refused
