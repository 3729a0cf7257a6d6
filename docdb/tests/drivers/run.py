"""PyMongo against any server: python run.py URI [--only TEXT] [--auth-uri URI] [--list]; one line a case, then a total."""

import argparse
import sys
import time
import traceback

import pymongo

from python import crud, server, values

SUITES = {"python crud": crud.CASES, "python values": values.CASES, "python server": server.CASES}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("uri", nargs="?")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    cases = [(f"{suite}: {name}", body) for suite, list_ in SUITES.items() for name, body in list_
             if asked.only in f"{suite}: {name}"]
    if asked.list:
        print("\n".join(name for name, _ in cases))
        return 0
    if not asked.uri:
        parser.error("a URI is needed, as mongodb://127.0.0.1:27017/")
    client = pymongo.MongoClient(asked.uri, serverSelectionTimeoutMS=5_000)
    passed = sum(run_case(client, asked.uri, index, name, body) for index, (name, body) in enumerate(cases))
    print(f"total: {passed} of {len(cases)} pass")
    return 0 if cases and passed == len(cases) else 1


def run_case(client, uri, index, name, body):
    """Runs one case in a database of its own; true when it passed."""
    database = client[f"case_python_{index}"]
    begun = time.monotonic()
    complaint = ""
    try:
        body(Given(client, database, uri))
    except Exception:  # whatever a driver throws is a failure of the case
        complaint = traceback.format_exc(limit=-3)
    try:
        client.drop_database(database.name)
    except pymongo.errors.PyMongoError as error:
        complaint = complaint or f"cannot drop the database: {error}"
    took = (time.monotonic() - begun) * 1e3
    print(f"{'FAIL' if complaint else 'ok  '} {name} ({took:.0f} ms)", flush=True)
    for line in complaint.splitlines():
        print(f"       {line}")
    return not complaint


class Given:
    """What a case gets: a client, an empty database, a collection in it, and the URI for clients of its own."""

    def __init__(self, client, database, uri):
        self.client, self.db, self.uri = client, database, uri
        self.ships = database["ships"]


if __name__ == "__main__":
    sys.exit(main())
