"""What servers of HTTP/2 do that they should not, one row each: bare frames, so that no library corrects them."""

import socket
import struct
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 0, 2, 7, 8, 11
STREAMS_MAX, INITIAL_WINDOW = 3, 4
PREFACE_BYTES = 24
END, RESET = "end", "reset"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def block(*fields):
    """Fields as literals that are not indexed."""
    return b"".join(b"\0" + b"".join(bytes([len(text)]) + text for text in field) for field in fields)


def head(stream, *fields, status=b"200", flags=END_HEADERS):
    return frame(HEADERS, flags, stream, block((b":status", status), *fields))


def length(count):
    return b"content-length", str(count).encode()


def data(stream, text, flags=END_STREAM):
    return frame(DATA, flags, stream, text)


def whole(stream, status=b"200"):
    return head(stream, length(2), status=status) + data(stream, b"ok")


def goaway(last, code):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code))


def reset(stream, code):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def update(stream, count):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", count))


def exactly(connection, count):
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            raise EOFError
        got += more
    return got


def next_frame(connection):
    start = exactly(connection, 9)
    payload = exactly(connection, int.from_bytes(start[:3], "big"))
    return start[3], start[4], int.from_bytes(start[5:], "big"), payload


def talking(answer, begin=settings((STREAMS_MAX, 100)), acknowledges=True, end=None):
    """A talk that begins so, and says `answer(stream, n)` to the n-th request of a connection.

    An answer is bytes or a list of bytes and pauses in seconds; with `END` or `RESET` in it that ends the connection.
    """
    def talk(connection, server):
        exactly(connection, PREFACE_BYTES)
        if begin in (END, RESET):
            return leaves(connection, server, begin)
        connection.sendall(begin)
        if end:
            return leaves(connection, server, end)
        n = 0
        while True:
            kind, flags, stream, _ = next_frame(connection)
            if kind == SETTINGS and not flags & ACK and acknowledges:
                connection.sendall(frame(SETTINGS, ACK, 0))
            if kind != HEADERS:
                continue
            server.saw()
            n += 1
            said = answer(stream, n)
            for part in said if isinstance(said, list) else [said]:
                if part in (END, RESET):
                    return leaves(connection, server, part)
                if isinstance(part, float):
                    time.sleep(part)
                else:
                    connection.sendall(part)
    return talk


def leaves(connection, server, end):
    """Ends the connection. Bytes that nobody reads would make an end a reset, and requests among them were seen."""
    if end == RESET:
        return RESET
    connection.shutdown(socket.SHUT_WR)
    while True:
        kind, *_ = next_frame(connection)
        if kind == HEADERS:
            server.saw()


def always(*parts):
    """The same for each request; a part may be a function of the stream."""
    return lambda stream, _n: [part(stream) if callable(part) else part for part in parts]


def every_other(*parts):
    """A whole answer, then this, in turn."""
    odd = always(*parts)
    return lambda stream, n: whole(stream) if n % 2 else odd(stream, n)


def up_to(count, *parts):
    """Whole answers, and with the last of so many also this."""
    last = always(*parts)
    return lambda stream, n: whole(stream) if n < count else [whole(stream), *last(stream, n)]


FIVE = (length(5),)
# Name, talk, and whether requests are POST.
ROWS = [
    ("answers", talking(lambda stream, _: whole(stream)), False),
    ("closes after the handshake", talking(None, begin=END), False),
    ("resets after the handshake", talking(None, begin=RESET), False),
    ("closes after its settings", talking(None, end=END), False),
    ("GOAWAY with its settings, looked at nothing", talking(None, begin=settings() + goaway(0, NO_ERROR), end=END), False),
    ("GOAWAY with each 5th answer, GET", talking(up_to(5, lambda s: goaway(s, NO_ERROR), END)), False),
    ("GOAWAY with each 5th answer, POST", talking(up_to(5, lambda s: goaway(s, NO_ERROR), END)), True),
    ("GOAWAY instead of every other answer, not looked at, POST",
     talking(every_other(lambda s: goaway(s - 2, NO_ERROR), END)), True),
    ("GOAWAY instead of every other answer, looked at, GET", talking(every_other(lambda s: goaway(s, NO_ERROR), END)), False),
    ("the same, POST", talking(every_other(lambda s: goaway(s, NO_ERROR), END)), True),
    ("GOAWAY, then the answer, then the end", talking(always(lambda s: goaway(s, NO_ERROR), whole, END)), False),
    ("GOAWAY within the answer, which then ends well",
     talking(always(lambda s: head(s, *FIVE) + goaway(s, NO_ERROR) + data(s, b"hello"), END)), False),
    ("GOAWAY with ENHANCE_YOUR_CALM within the answer",
     talking(always(lambda s: head(s, *FIVE) + goaway(s, ENHANCE_YOUR_CALM), END)), False),
    ("closes instead of every other answer, GET", talking(every_other(END)), False),
    ("the same, POST", talking(every_other(END)), True),
    ("closes within the head", talking(always(lambda s: head(s, *FIVE)[:12], END)), False),
    ("closes within the body", talking(always(lambda s: head(s, *FIVE) + data(s, b"he", 0), END)), False),
    ("resets the connection within the body", talking(always(lambda s: head(s, *FIVE) + data(s, b"he", 0), 0.002, RESET)), False),
    ("every other stream refused (REFUSED_STREAM), POST", talking(every_other(lambda s: reset(s, REFUSED_STREAM))), True),
    ("stream reset before the head (INTERNAL_ERROR)", talking(always(lambda s: reset(s, INTERNAL_ERROR))), False),
    ("stream reset after the head (CANCEL)", talking(always(lambda s: head(s, *FIVE) + reset(s, CANCEL))), False),
    ("stream reset within the body (INTERNAL_ERROR)",
     talking(always(lambda s: head(s, *FIVE) + data(s, b"he", 0) + reset(s, INTERNAL_ERROR))), False),
    ("stream reset after the whole answer (NO_ERROR)", talking(always(whole, lambda s: reset(s, NO_ERROR))), False),
    ("settings never acknowledged", talking(lambda stream, _: whole(stream), acknowledges=False), False),
    ("100 more SETTINGS and PINGs with each answer",
     talking(always(settings() * 100 + frame(PING, 0, 0, b"plimsoll") * 100, whole)), False),
    ("a window that opens after 20 ms, POST",
     talking(always(0.02, lambda s: update(s, 2000), whole), begin=settings((INITIAL_WINDOW, 0))), True),
    ("413 and NO_ERROR while the window is shut, POST",
     talking(always(lambda s: head(s, length(0), status=b"413", flags=END_HEADERS | END_STREAM) + reset(s, NO_ERROR)),
             begin=settings((INITIAL_WINDOW, 0))), True),
    ("100 and 103 before the answer",
     talking(always(lambda s: head(s, status=b"100") + head(s, (b"link", b"x"), status=b"103"), whole)), False),
    ("trailers", talking(always(lambda s: head(s) + data(s, b"ok", 0)
                                + frame(HEADERS, END_HEADERS | END_STREAM, s, block((b"x-end", b"1"))))), False),
    ("2 of 5 bytes", talking(always(lambda s: head(s, *FIVE) + data(s, b"he"))), False),
    ("6 of 5 bytes", talking(always(lambda s: head(s, *FIVE) + data(s, b"hello!"))), False),
    ("one byte a frame", talking(always(lambda s: head(s, *FIVE) + b"".join(data(s, bytes([b]), 0) for b in b"hello")
                                        + data(s, b""))), False),
    ("frames of unknown types", talking(always(lambda s: frame(0xbe, 0xff, s, b"unknown"), whole)), False),
    ("garbage instead of settings", talking(None, begin=b"\0\1garbage" * 40, end=END), False),
    ("an answer of HTTP/1.1", talking(None, begin=b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", end=END), False),
    ("garbage instead of an answer", talking(always(b"\x90garbage!" * 40, END)), False),
    ("a head that cannot be decoded", talking(always(lambda s: frame(HEADERS, END_HEADERS, s, b"\xff" * 6))), False),
    ("a frame longer than allowed", talking(always(lambda s: head(s) + data(s, b"x" * 16385))), False),
    ("DATA before the head", talking(always(lambda s: data(s, b"ok"))), False),
    ("a WINDOW_UPDATE of 0", talking(always(update(0, 0), whole)), False),
    ("CONTINUATION that continues nothing", talking(always(lambda s: frame(CONTINUATION, END_HEADERS, s, b""))), False),
    ("PUSH_PROMISE", talking(always(
        lambda s: frame(PUSH_PROMISE, END_HEADERS, s, struct.pack(">I", 2) + block((b":method", b"GET"))))), False),
]
# Rows in which nothing ends before the client's time-out.
SLOW_ROWS = [
    ("no settings and no answer", talking(lambda *_: b"", begin=b"", acknowledges=False), False),
    ("no stream allowed, ever", talking(lambda *_: b"", begin=settings((STREAMS_MAX, 0))), False),
    ("no answer at all", talking(lambda *_: b""), False),
    ("a window that stays shut, POST", talking(lambda *_: b"", begin=settings((INITIAL_WINDOW, 0))), True),
    ("half a body, then nothing", talking(always(lambda s: head(s, *FIVE) + data(s, b"he", 0))), False),
]
