"""A small Python service with one injected limit: a lock, workers, a pool of connections, or a tier behind.

usage: python3 service.py lock|workers|pool|front|tier NUMBER MILLISECONDS [TIER]
"""

import http.client
import http.server
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit


def lock(_number, seconds, _tier):
    """One request at a time, asleep while it holds the lock."""
    held = threading.Lock()

    def answer():
        with held:
            time.sleep(seconds)
        return b"done\n"
    return answer


def workers(number, seconds, _tier):
    """Each request waits for one of a fixed number of threads."""
    pool = ThreadPoolExecutor(number)
    return lambda: pool.submit(time.sleep, seconds).result() or b"done\n"


def pool(number, _seconds, tier):
    """A request borrows one of a fixed number of connections to the tier behind."""
    free = queue.Queue()
    for _ in range(number):
        free.put(http.client.HTTPConnection(tier, timeout=60))

    def answer():
        connection = free.get()
        try:
            return asked(connection)
        finally:
            free.put(connection)
    return answer


def front(_number, _seconds, tier):
    """Each client's thread has a connection to the tier behind."""
    own = threading.local()

    def answer():
        if not hasattr(own, "connection"):
            own.connection = http.client.HTTPConnection(tier, timeout=60)
        return asked(own.connection)
    return answer


def asked(connection):
    connection.request("GET", "/")
    return connection.getresponse().read()


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 4096
    daemon_threads = True


def handler(answer):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body leave in one segment: two would wait for an acknowledgement in between.
        wbufsize = -1

        def do_GET(self):
            body = answer()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    return Handler


def main():
    kind, number, milliseconds, *rest = sys.argv[1:]
    kinds = {"lock": lock, "workers": workers, "tier": workers, "pool": pool, "front": front}
    tier = urlsplit(rest[0]).netloc if rest else ""
    answer = kinds[kind](int(number), float(milliseconds) / 1e3, tier)
    server = Server(("127.0.0.1", 0), handler(answer))
    print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
