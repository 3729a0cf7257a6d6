"""Starts a private nginx on one core and counts, by its own status page, what it served."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 3600s;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{plain}{http2} backlog=4096;
    location / {{ return 200 "ok"; }}
  }}
  server {{
    listen 127.0.0.1:{tls} ssl{http2} backlog=4096;
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_session_tickets off;
    ssl_session_cache off;
    location / {{ return 200 "ok"; }}
  }}
  server {{
    listen 127.0.0.1:{status};
    location / {{ stub_status; }}
  }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_open(port, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise SystemExit(f"nothing listens on port {port} after {seconds} s")


class Nginx:
    """One worker, a two-byte answer, no access log, full TLS handshakes (no tickets, no cache)."""

    def __init__(self, core, http2=False):
        self.core, self.http2 = core, http2

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="plimsoll-bench-")
        self.plain, self.tls, self.status = free_port(), free_port(), free_port()
        certify(self.folder)
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w", encoding="utf-8") as out:
            out.write(CONFIGURATION.format(
                folder=self.folder, plain=self.plain, tls=self.tls, status=self.status,
                http2=" http2" if self.http2 else ""))
        self.process = subprocess.Popen(
            [program(), "-p", self.folder, "-c", path],
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, {self.core}),
        )
        wait_until_open(self.status)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def requests(self):
        """Requests answered since the start, this question included."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status}/") as answer:
            text = answer.read().decode()
        return int(re.search(r"\n\s*\d+ \d+ (\d+)", text).group(1))

    def url(self, tls=False):
        return f"https://127.0.0.1:{self.tls}/" if tls else f"http://127.0.0.1:{self.plain}/"


def program():
    found = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if found is None:
        raise SystemExit("nginx is missing; install it with: apt-get install nginx-light")
    return found


def certify(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"],
        check=True, stderr=subprocess.DEVNULL,
    )
