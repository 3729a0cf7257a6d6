"""How a case is written down, and the assertions that they share."""

import pymongo.errors


def collector():
    """A list of cases and the decorator that adds to it: `@case("name")`."""
    cases = []

    def case(name):
        def add(body):
            cases.append((name, body))
            return body
        return add

    return cases, case


def equal(found, expected):
    """Equal values of equal types: 1, 1.0 and True differ."""
    if repr(found) != repr(expected):
        raise AssertionError(f"found    {found!r}\n       expected {expected!r}")


def fails(codes, operation):
    """The operation fails on the server with one of these codes; returns the error."""
    wanted = (codes,) if isinstance(codes, int) else codes
    try:
        operation()
    except pymongo.errors.OperationFailure as error:
        code = error.code
        if isinstance(error, pymongo.errors.BulkWriteError):
            code = error.details["writeErrors"][0]["code"]
        if code not in wanted:
            raise AssertionError(f"expected code {wanted}, got {code}: {error}") from error
        return error
    raise AssertionError(f"expected code {wanted}, but the operation succeeded")
