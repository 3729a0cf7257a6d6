"""A server that counts the requests it saw and treats each connection in one manner, over TCP or over TLS with HTTP/2."""

import contextlib
import os
import socket
import ssl
import struct
import subprocess
import threading

# Connections that a program opens in one row; more than that is a loop, and the rest is closed at once.
CONNECTIONS_MAX = 5000
READ_BYTES = 65536


class Server:
    """`talk(connection, server)` is called for each connection on a thread of its own, and calls `saw()` for each request."""

    def __init__(self, talk, tls=None):
        self.talk, self.tls = talk, tls
        self.seen, self.connections = 0, 0
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        # Wakes the accepting thread, which then closes the listener.
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()

    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/"

    def saw(self):
        with self.lock:
            self.seen += 1

    def accept(self):
        with self.listener:
            while not self.stopped.is_set():
                raw, _ = self.listener.accept()
                self.connections += 1
                if self.connections > CONNECTIONS_MAX:
                    raw.close()
                    continue
                threading.Thread(target=self.serve, args=(raw,), daemon=True).start()

    def serve(self, raw):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.settimeout(10)
        # An error is a client that went.
        with contextlib.suppress(OSError, EOFError), raw:
            connection = Tls(raw, self.tls) if self.tls else raw
            if self.talk(connection, self) == "reset":
                # The close becomes a reset.
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Tls:
    """One connection over TLS that still reads after it has ended its own side, which Python's own sockets cannot."""

    def __init__(self, raw, made):
        self.raw, self.incoming, self.outgoing = raw, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = made.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.until_done(self.session.do_handshake)

    def until_done(self, action):
        while True:
            try:
                return action()
            except ssl.SSLWantReadError:
                self.flush()
                got = self.raw.recv(READ_BYTES)
                if not got:
                    raise EOFError from None
                self.incoming.write(got)
            finally:
                self.flush()

    def flush(self):
        if self.outgoing.pending:
            self.raw.sendall(self.outgoing.read())

    def recv(self, count):
        return self.until_done(lambda: self.session.read(count))

    def sendall(self, data):
        self.session.write(data)
        self.flush()

    def shutdown(self, how):
        self.raw.shutdown(how)


def context(folder):
    """A server's TLS with a certificate of its own that offers HTTP/2."""
    files = [os.path.join(folder, name) for name in ("certificate.pem", "key.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files[1], "-out", files[0]],
        check=True, stderr=subprocess.DEVNULL)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*files)
    made.set_alpn_protocols(["h2"])
    return made
