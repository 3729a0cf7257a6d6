"""Services of one Python process for bench/guard/live.py: `python3 services.py KIND PORT`."""

import http.server
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time

BACKLOG = 2048
LOCK = threading.Lock()
SLEEPERS = 12


def slept():
    """Twelve threads, each with a client at a time, and 30 ms in which nothing is computed: a classic pool of workers."""
    time.sleep(0.03)


def locked():
    """One lock that everybody needs for 4 ms."""
    with LOCK:
        time.sleep(0.004)


class Database:
    """A transaction that writes: SQLite lets in one at a time, and the others look again after a while."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="plimsoll-guard-live-")
        self.own = threading.local()
        link = self.link()
        link.execute("PRAGMA journal_mode=WAL")
        link.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, at REAL, text TEXT)")
        link.executemany("INSERT INTO visit (at, text) VALUES (?, ?)", ((n, "x" * 40) for n in range(5000)))
        link.commit()

    def link(self):
        if not hasattr(self.own, "link"):
            self.own.link = sqlite3.connect(os.path.join(self.folder, "visits.db"), timeout=5, isolation_level=None)
            self.own.link.execute("PRAGMA synchronous=NORMAL")
        return self.own.link

    def __call__(self):
        link = self.link()
        link.execute("BEGIN IMMEDIATE")
        link.execute("INSERT INTO visit (at, text) VALUES (?, ?)", (time.time(), "x" * 40))
        link.execute("SELECT count(*), max(text) FROM visit WHERE id <= 5000 AND text LIKE '%xx'").fetchone()
        link.execute("COMMIT")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def handler(work):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):  # noqa: N802 (the name that the library asks for)
            try:
                work()
                status, text = 200, b"done\n"
            except sqlite3.OperationalError as error:
                status, text = 503, f"{error}\n".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = BACKLOG
    daemon_threads = True

    def handle_error(self, *_):
        """A client that has left is no news."""


def workers(port, work):
    """A fixed number of threads, each accepts a client when it is done with the last."""
    listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)

    def serve():
        while True:
            stream, _ = listener.accept()
            with stream:
                try:
                    if stream.recv(65536):
                        work()
                        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ndone\n")
                except OSError:
                    pass

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(SLEEPERS)]
    for thread in threads:
        thread.start()
    threads[0].join()


def main():
    kind, port = sys.argv[1], int(sys.argv[2])
    if kind == "sleep":
        workers(port, slept)
    elif kind == "lock":
        Server(("127.0.0.1", port), handler(locked)).serve_forever()
    elif kind == "sqlite":
        database = Database()
        try:
            Server(("127.0.0.1", port), handler(database)).serve_forever()
        finally:
            database.close()
    else:
        sys.exit(f"services.py: no kind {kind}; there are sleep, lock, sqlite")


if __name__ == "__main__":
    main()
