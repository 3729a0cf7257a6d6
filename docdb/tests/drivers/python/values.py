"""BSON types as PyMongo writes and reads them."""

import datetime
import re
import uuid

from bson import Binary, Code, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from .case import collector, equal

CASES, case = collector()

VALUES = {
    "float": 1.5, "whole float": 3.0, "text": "Grüße 船", "document": {"b": 1, "a": [1, {"c": None}]}, "bytes": b"\x00\xff",
    "binary of a user type": Binary(b"x", 128), "ObjectId": ObjectId("0123456789abcdef01234567"), "bool": True, "none": None,
    "datetime": datetime.datetime(2024, 5, 1, 12, 30, 15, 123000), "before 1970": datetime.datetime(1931, 1, 1),
    "int": -5, "largest int64": 2**63 - 1, "Int64": Int64(7), "Timestamp": Timestamp(5, 7), "Decimal128": Decimal128("1.10"),
    "Code": Code("x"), "Code with scope": Code("x", {"y": 1}), "Regex": Regex("^a", 2), "MinKey": MinKey(), "MaxKey": MaxKey(),
    "DBRef": DBRef("ships", 1),
}


def round_trip(value):
    def body(given):
        given.ships.insert_one({"_id": 1, "value": value})
        equal(given.ships.find_one()["value"], value)
    return body


for _name, _value in VALUES.items():
    case(f"round trip: {_name}")(round_trip(_value))


@case("UUIDs in the standard representation")
def uuids(given):
    ships = given.db.get_collection("ships", CodecOptions(uuid_representation=UuidRepresentation.STANDARD))
    key = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    ships.insert_one({"_id": key})
    equal(ships.find_one({"_id": key}), {"_id": key})


@case("raw documents pass unchanged")
def raw(given):
    ships = given.db.get_collection("ships", CodecOptions(document_class=RawBSONDocument))
    ships.insert_one({"_id": 1, "b": Int64(2), "a": 1.0})
    first = ships.find_one()
    ships.delete_one({"_id": 1})
    ships.insert_one(first)
    equal(ships.find_one().raw, first.raw)


@case("numbers of all types compare, sort and match")
def numbers(given):
    given.ships.insert_many([{"_id": 1, "n": 2}, {"_id": 2, "n": 1.5}, {"_id": 3, "n": Int64(3)}, {"_id": 4, "n": Decimal128("2.5")}])
    equal([one["_id"] for one in given.ships.find().sort("n", 1)], [2, 1, 4, 3])
    equal([one["_id"] for one in given.ships.find({"n": {"$gt": 1.9, "$lte": Decimal128("2.5")}}).sort("_id")], [1, 4])
    equal(given.ships.count_documents({"n": 2.0}), 1)


@case("an int that outgrows 32 bits becomes Int64 by $inc")
def growth(given):
    given.ships.insert_one({"_id": 1, "n": 2**31 - 1})
    given.ships.update_one({"_id": 1}, {"$inc": {"n": 1}})
    equal(given.ships.find_one()["n"], Int64(2**31))


@case("compiled patterns are filters")
def patterns(given):
    given.ships.insert_many([{"_id": 1, "s": "Anchor"}, {"_id": 2, "s": "buoy\nanchor"}])
    equal([one["_id"] for one in given.ships.find({"s": re.compile("^anchor", re.I | re.M)}).sort("_id")], [1, 2])


@case("dots and dollars in names")
def names(given):
    given.ships.insert_one({"_id": 1, "a.b": 1, "in": {"$c": 2, "": 3}})
    equal(given.ships.find_one(), {"_id": 1, "a.b": 1, "in": {"$c": 2, "": 3}})
