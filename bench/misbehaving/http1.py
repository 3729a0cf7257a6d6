"""What servers of HTTP/1.1 do that they should not, one function each."""

import time

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HEAD = b"HTTP/1.1 200 OK\r\n"
END, RESET = "end", "reset"


def talking(manner):
    """A talk in which `manner(connection, n)` treats the n-th request of a connection; what it returns ends that."""
    def talk(connection, server):
        reader = connection.makefile("rb")
        n = 0
        while read_request(reader):
            n += 1
            server.saw()
            end = manner(connection, n)
            if end:
                return end
        return END
    return talk


def read_request(reader):
    length, lines = 0, 0
    while True:
        line = reader.readline()
        if not line:
            return False
        if line == b"\r\n":
            break
        lines += 1
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    reader.read(length)
    return lines > 0


def says(*parts, end=None, pause=0.0):
    """A manner that says the same to each request."""
    def manner(connection, _n):
        for part in parts:
            connection.sendall(part)
            if pause:
                time.sleep(pause)
        return end
    return manner


def every_other(end):
    def manner(connection, n):
        if n % 2 == 0:
            return end
        connection.sendall(OK)
        return None
    return manner


def closes_soon(connection, _n):
    connection.sendall(OK)
    time.sleep(0.0005)
    return END


def head(*lines, body=b""):
    return HEAD + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


CHUNKED = b"Transfer-Encoding: chunked"

# Name, manner, and whether requests are POST.
ROWS = [
    ("answers", says(OK), False),
    ("ends every other request of a connection without an answer, GET", every_other(END), False),
    ("the same, POST", every_other(END), True),
    ("resets every other request of a connection, POST", every_other(RESET), True),
    ("closes 0.5 ms after each answer, GET", closes_soon, False),
    ("closes 0.5 ms after each answer, POST", closes_soon, True),
    ("2 of 10 bytes", says(head(b"Content-Length: 10", body=b"ok"), end=END), False),
    ("no length, ends the connection", says(head(body=b"ok"), end=END), False),
    ("resets in the head", says(HEAD + b"Conte", end=RESET, pause=0.002), False),
    ("resets in the body", says(head(b"Content-Length: 9", body=b"ok"), end=RESET, pause=0.002), False),
    ("ends in a chunk", says(head(CHUNKED, body=b"5\r\nab"), end=END), False),
    ("a chunk of no length", says(head(CHUNKED, body=b"zz\r\nab\r\n0\r\n\r\n"), end=END), False),
    ("garbage", says(b"\0\1garbage\r\n\r\n", end=END), False),
    ("two lengths", says(head(b"Content-Length: 2", b"Content-Length: 3", body=b"ok")), False),
    ("more than one answer", says(OK + OK), False),
    ("100 and 103 before the answer",
     says(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK), False),
    ("trailers", says(head(CHUNKED, b"Trailer: X-End", body=b"2\r\nok\r\n0\r\nX-End: 1\r\n\r\n")), False),
    ("204 with a body", says(b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok"), False),
    ("a folded header line", says(head(b"X: one\r\n two", b"Content-Length: 0")), False),
    ("300 headers", says(head(*[b"X: 1"] * 300, b"Content-Length: 0")), False),
    ("a head of 2 MB", says(head(b"X: " + b"a" * 2_000_000, b"Content-Length: 0")), False),
    ("a space behind the name of a header", says(head(b"X : 1", b"Content-Length: 0")), False),
    ("a length beside chunks",
     says(head(b"Content-Length: 9", b"Transfer-Encoding: chunked", body=b"2\r\nok\r\n0\r\n\r\n")), False),
    ("a head of 200 kB", says(head(b"X: " + b"a" * 200_000, b"Content-Length: 0")), False),
    ("one byte at a time", says(*[bytes([byte]) for byte in OK], pause=0.0002), False),
    ("302", says(b"HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n"), False),
    ("no answer at all", says(end=END), False),
    ("500 and the end of the connection",
     says(b"HTTP/1.1 500 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", end=END), False),
]
