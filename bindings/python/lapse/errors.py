"""What can go wrong, named by what the caller can do about it.

    >>> try:
    ...     lapse.KVStore()["nobody"]
    ... except KeyError as error:
    ...     print(error)
    there is no key 'nobody'
"""

from __future__ import annotations


class Error(Exception):
    """The base of all. `code` is the name of the store's own code: "Busy", "NoSpace", …"""

    code: str = "Error"

    def __str__(self) -> str:  # KeyError, among the bases below, would show the message in quotes
        return Exception.__str__(self)


class NotFoundError(Error, KeyError):
    """What was named is not there: a key, a family, a store."""

    code = "NotFound"


class InvalidArgumentError(Error, ValueError):
    """The call itself is wrong: change it."""

    code = "InvalidArgument"


class TooLargeError(InvalidArgumentError):
    """Over a documented limit: split it."""

    code = "TooLarge"


class BusyError(Error):
    """Someone else holds it: wait and try again."""

    code = "Busy"


class ThrottledError(BusyError):
    """Over the limit of a throttle; `retry_after` is in seconds."""

    retry_after: float = 0.0


class LockedError(Error):
    """A lock is held by another, or the thread, or another asyncio task in it, has a transaction open already."""

    code = "Conflict"


class ReadOnlyError(Error):
    """Opened without the right to write, or written to in a read transaction."""

    code = "ReadOnly"


class CorruptError(Error):
    """Bytes on disk are not what was written: restore, or open with salvage."""

    code = "Corrupt"


class DiskError(Error):
    """The operating system refused, or the disk is full: the message says what it said."""

    code = "IoError"


class UnavailableError(Error):
    """This handle no longer works, being closed or inherited over fork: open again."""

    code = "Unavailable"


_BY_CODE: dict[str, type[Error]] = {
    kind.code: kind
    for kind in (NotFoundError, InvalidArgumentError, TooLargeError, BusyError, LockedError,
                 ReadOnlyError, CorruptError, DiskError, UnavailableError)
}
_BY_CODE["NoSpace"] = DiskError


def from_status(code: str, message: str) -> Error:
    """The exception for a Status of C++; those without a class of their own are an Error."""
    error = _BY_CODE.get(code, Error)(message)
    error.code = code
    return error
