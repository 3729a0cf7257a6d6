"""Indexes, collections, sessions, concurrency and limits as PyMongo sees them."""

import threading

import pymongo
from pymongo.errors import CollectionInvalid, DocumentTooLarge
from pymongo.write_concern import WriteConcern

from .case import collector, equal, fails

CASES, case = collector()


@case("hello, ping, server_info and list_database_names")
def hello(given):
    equal(given.db.command("ping")["ok"], 1.0)
    assert given.client.admin.command("hello")["maxWireVersion"] >= 21
    assert given.client.server_info()["versionArray"][0] >= 7
    given.ships.insert_one({})
    assert given.db.name in given.client.list_database_names()


@case("create, list and drop indexes")
def indexes(given):
    ships = given.ships
    equal(ships.create_index([("a", 1), ("b", -1)], unique=True), "a_1_b_-1")
    ships.create_index("at", expireAfterSeconds=60)
    ships.create_indexes([pymongo.IndexModel("c", sparse=True), pymongo.IndexModel("d", name="dee", partialFilterExpression={"d": {"$gt": 1}})])
    found = ships.index_information()
    equal(sorted(found), ["_id_", "a_1_b_-1", "at_1", "c_1", "dee"])
    equal((found["a_1_b_-1"]["unique"], found["at_1"]["expireAfterSeconds"], found["c_1"]["sparse"], dict(found["dee"]["partialFilterExpression"]["d"])),
          (True, 60, True, {"$gt": 1}))
    ships.drop_index("dee")
    ships.drop_indexes()
    equal(list(ships.index_information()), ["_id_"])
    fails(27, lambda: ships.drop_index("dee"))


@case("a unique index refuses, and explain shows an index at work")
def unique(given):
    given.ships.create_index("mail", unique=True)
    given.ships.insert_many([{"_id": one, "mail": f"{one}@x"} for one in range(50)])
    error = fails(11000, lambda: given.ships.insert_one({"mail": "7@x"}))
    equal((error.details["keyPattern"], error.details["keyValue"]), ({"mail": 1}, {"mail": "7@x"}))
    assert "IXSCAN" in repr(given.ships.find({"mail": "7@x"}).explain())


@case("collections are created, listed, renamed and dropped")
def collections(given):
    given.db.create_collection("one")
    try:
        given.db.create_collection("one")
        raise AssertionError("a second create succeeded")
    except CollectionInvalid:
        pass
    given.db["one"].insert_one({"_id": 1})
    given.db["one"].rename("two")
    equal(given.db.list_collection_names(), ["two"])
    equal(given.db["two"].find_one(), {"_id": 1})
    given.db.drop_collection("two")
    equal(given.db.list_collection_names(), [])


@case("sessions work, transactions are refused")
def sessions(given):
    with given.client.start_session() as session:
        given.ships.insert_one({"_id": 1}, session=session)
        equal(given.ships.find_one({"_id": 1}, session=session), {"_id": 1})
    with given.client.start_session() as session:
        session.start_transaction()
        fails((20, 263, 72, 115), lambda: given.ships.insert_one({"_id": 2}, session=session))
        session.abort_transaction()
    equal(given.ships.count_documents({}), 1)


@case("write concern 0 is not acknowledged and does not disturb")
def unacknowledged(given):
    with pymongo.MongoClient(given.uri, maxPoolSize=1) as client:
        ships = client[given.db.name]["ships"]
        quiet = ships.with_options(write_concern=WriteConcern(w=0))
        assert not quiet.insert_one({"_id": 1}).acknowledged
        quiet.insert_one({"_id": 1})
        quiet.update_one({"_id": 1}, {"$inc": {"n": 1}})
        for _ in range(10):
            equal(ships.find_one(), {"_id": 1, "n": 1})


@case("20 threads with $inc lose nothing")
def concurrency(given):
    given.ships.insert_one({"_id": 1, "n": 0})

    def work():
        for _ in range(25):
            given.ships.update_one({"_id": 1}, {"$inc": {"n": 1}})

    threads = [threading.Thread(target=work) for _ in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    equal(given.ships.find_one()["n"], 500)


@case("a document of 15 MB passes, one of 17 MB does not")
def large(given):
    given.ships.insert_one({"_id": 1, "text": "m" * 15_000_000})
    equal(len(given.ships.find_one()["text"]), 15_000_000)
    try:
        given.ships.insert_one({"_id": 2, "text": "m" * 17_000_000})
        raise AssertionError("17 MB were taken")
    except (DocumentTooLarge, pymongo.errors.OperationFailure):
        pass
    equal(given.ships.count_documents({}), 1)


@case("10,000 documents in one insert_many")
def many(given):
    equal(len(given.ships.insert_many([{"_id": one, "n": one % 10} for one in range(10_000)]).inserted_ids), 10_000)
    equal(given.ships.count_documents({"n": 3}), 1_000)


@case("messages compressed with zlib pass both ways")
def compressed(given):
    with pymongo.MongoClient(given.uri, compressors="zlib") as client:
        ships = client[given.db.name]["ships"]
        ships.insert_many([{"_id": one, "text": "coal " * 1_000} for one in range(50)])
        equal(sum(len(one["text"]) for one in ships.find()), 50 * 5_000)


@case("a validator is refused and not ignored")
def validator(given):
    fails((115, 72, 2), lambda: given.db.create_collection("strict", validator={"tons": {"$gt": 0}}))


@case("dbStats, collStats and serverStatus")
def statistics(given):
    given.ships.insert_many([{"_id": one} for one in range(20)])
    equal((int(given.db.command("dbStats")["objects"]), int(given.db.command("collStats", "ships")["count"])), (20, 20))
    assert given.client.admin.command("serverStatus")["connections"]["current"] >= 1
