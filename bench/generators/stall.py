"""A server that freezes 200 ms every 2 s at 1,000 arrivals/s: does the generator show the stall?"""


def run():
    raise SystemExit("unwritten")
