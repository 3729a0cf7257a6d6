"""Reads and writes as PyMongo sends them."""

import pymongo
from bson import ObjectId
from pymongo import DeleteMany, DeleteOne, InsertOne, ReplaceOne, ReturnDocument, UpdateMany, UpdateOne

from .case import collector, equal, fails

CASES, case = collector()

FLEET = [{"_id": 1, "name": "Aurora", "tons": 10}, {"_id": 2, "name": "Borealis", "tons": 30}, {"_id": 3, "name": "Caravel", "tons": 20}]


def afloat(name):
    """A case over three ships."""
    def add(body):
        def seeded(given):
            given.ships.insert_many([dict(ship) for ship in FLEET])
            body(given)
        return case(name)(seeded)
    return add


@case("insert_one and insert_many return ids")
def insert(given):
    assert isinstance(given.ships.insert_one({"a": 1}).inserted_id, ObjectId)
    equal(given.ships.insert_many([{"_id": 5}, {"_id": "x"}]).inserted_ids, [5, "x"])
    equal(given.ships.count_documents({}), 3)


@afloat("find with filter, projection, sort, skip and limit")
def find(given):
    equal(list(given.ships.find({"tons": {"$gt": 5}}, {"_id": 0, "name": 1}).sort("tons", -1).skip(1).limit(1)), [{"name": "Caravel"}])
    equal(given.ships.find_one({"_id": 9}), None)


@afloat("update_one and update_many count matched and modified")
def update(given):
    result = given.ships.update_one({"_id": 1}, {"$inc": {"tons": 1}})
    equal((result.matched_count, result.modified_count, result.upserted_id), (1, 1, None))
    result = given.ships.update_many({}, {"$set": {"name": "Caravel"}})
    equal((result.matched_count, result.modified_count), (3, 2))


@case("an upsert returns its id and whether the server made it")
def upsert(given):
    made = given.ships.update_one({"name": "Gull"}, {"$set": {"tons": 1}}, upsert=True)
    assert isinstance(made.upserted_id, ObjectId) and made.did_upsert
    equal(given.ships.replace_one({"_id": "r"}, {"a": 1}, upsert=True).upserted_id, "r")


@afloat("replace_one keeps the _id; a changed _id is 66")
def replace(given):
    equal(given.ships.replace_one({"_id": 1}, {"sails": 3}).modified_count, 1)
    equal(given.ships.find_one({"_id": 1}), {"_id": 1, "sails": 3})
    fails(66, lambda: given.ships.replace_one({"_id": 1}, {"_id": 7}))


@afloat("delete_one and delete_many")
def delete(given):
    equal(given.ships.delete_one({"_id": 1}).deleted_count, 1)
    equal(given.ships.delete_many({}).deleted_count, 2)


@afloat("a duplicate key is DuplicateKeyError with keyPattern and keyValue")
def duplicate(given):
    error = fails(11000, lambda: given.ships.insert_one({"_id": 2}))
    assert isinstance(error, pymongo.errors.DuplicateKeyError)
    equal((error.details["keyPattern"], error.details["keyValue"]), ({"_id": 1}, {"_id": 2}))


@afloat("find_one_and_update before, after, upsert, projection and sort")
def modify(given):
    ships = given.ships
    equal(ships.find_one_and_update({"_id": 1}, {"$inc": {"tons": 5}}, {"_id": 0, "tons": 1}), {"tons": 10})
    equal(ships.find_one_and_update({}, {"$set": {"top": True}}, {"_id": 1}, sort=[("tons", -1)], return_document=ReturnDocument.AFTER), {"_id": 2})
    equal(ships.find_one_and_update({"_id": 8}, {"$set": {"n": 1}}, upsert=True), None)
    equal(ships.find_one_and_update({"_id": 9}, {"$set": {"n": 1}}, upsert=True, return_document=ReturnDocument.AFTER), {"_id": 9, "n": 1})


@afloat("find_one_and_replace and find_one_and_delete")
def modify_others(given):
    equal(given.ships.find_one_and_replace({"_id": 1}, {"a": 1}, return_document=ReturnDocument.AFTER), {"_id": 1, "a": 1})
    equal(given.ships.find_one_and_delete({"_id": 1}), {"_id": 1, "a": 1})
    equal(given.ships.find_one_and_delete({"_id": 1}), None)


@afloat("bulk_write of all kinds")
def bulk(given):
    result = given.ships.bulk_write([
        InsertOne({"_id": 4, "tons": 1}), UpdateOne({"_id": 1}, {"$inc": {"tons": 1}}), UpdateMany({}, {"$set": {"x": 1}}),
        ReplaceOne({"_id": 9}, {"y": 1}, upsert=True), DeleteOne({"_id": 2}), DeleteMany({"_id": 3})])
    equal((result.inserted_count, result.matched_count, result.modified_count, result.deleted_count, result.upserted_ids),
          (1, 5, 5, 2, {3: 9}))


@case("ordered bulk errors keep what came before and name the index")
def bulk_ordered(given):
    error = fails(11000, lambda: given.ships.insert_many([{"_id": 1}, {"_id": 1}, {"_id": 2}]))
    equal((error.details["nInserted"], error.details["writeErrors"][0]["index"], given.ships.count_documents({})), (1, 1, 1))


@case("unordered bulk errors go on and name every index")
def bulk_unordered(given):
    error = fails(11000, lambda: given.ships.insert_many([{"_id": one} for one in (1, 1, 2, 2, 3)], ordered=False))
    equal((error.details["nInserted"], [one["index"] for one in error.details["writeErrors"]]), (3, [1, 3]))


@afloat("count_documents, estimated_document_count and distinct")
def count(given):
    equal((given.ships.count_documents({"tons": {"$gte": 20}}), given.ships.estimated_document_count()), (2, 3))
    equal(sorted(given.ships.distinct("name")), ["Aurora", "Borealis", "Caravel"])


@afloat("aggregate groups, sorts and looks up")
def aggregate(given):
    given.db["ports"].insert_one({"_id": "Aurora", "port": "Turku"})
    found = list(given.ships.aggregate([
        {"$match": {"tons": {"$lt": 25}}}, {"$lookup": {"from": "ports", "localField": "name", "foreignField": "_id", "as": "p"}},
        {"$group": {"_id": {"$size": "$p"}, "tons": {"$sum": "$tons"}}}, {"$sort": {"_id": 1}}]))
    equal(found, [{"_id": 0, "tons": 20}, {"_id": 1, "tons": 10}])


@case("a cursor over many batches, a limit, and an early close")
def cursor(given):
    given.ships.insert_many([{"_id": one} for one in range(1_000)])
    equal([one["_id"] for one in given.ships.find().sort("_id").batch_size(33)], list(range(1_000)))
    equal(len(list(given.ships.find().limit(150).batch_size(100))), 150)
    begun = given.ships.find(batch_size=10)
    next(begun)
    identity = begun.cursor_id
    begun.close()
    fails(43, lambda: given.db.command("getMore", identity, collection="ships"))


@case("array filters and pipelines in updates")
def update_forms(given):
    given.ships.insert_one({"_id": 1, "v": [1, 5], "n": 2})
    given.ships.update_one({"_id": 1}, {"$set": {"v.$[big]": 0}}, array_filters=[{"big": {"$gt": 3}}])
    given.ships.update_one({"_id": 1}, [{"$set": {"m": {"$add": ["$n", 1]}}}])
    equal(given.ships.find_one(), {"_id": 1, "v": [1, 0], "n": 2, "m": 3})


@afloat("regular expressions, comment, hint and max_time_ms")
def options(given):
    equal([one["_id"] for one in given.ships.find({"name": {"$regex": "^a", "$options": "i"}}, comment={"by": "test"}).hint("_id_").max_time_ms(5_000)], [1])


@case("errors of every operation reach the caller")
def errors(given):
    given.ships.insert_one({"_id": 1, "a": "text"})
    fails(14, lambda: given.ships.update_one({"_id": 1}, {"$inc": {"a": 1}}))
    fails(2, lambda: list(given.ships.find({"a": {"$sail": 1}})))
    fails(2, lambda: given.ships.delete_many({"a": {"$sail": 1}}))
    fails(40324, lambda: list(given.ships.aggregate([{"$hoist": 1}])))
    fails(14, lambda: given.ships.find_one_and_update({"_id": 1}, {"$inc": {"a": 1}}))
    fails(59, lambda: given.db.command("weighAnchor"))
