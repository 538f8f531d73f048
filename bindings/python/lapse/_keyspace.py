"""What can be done with keys, in a store, a family or a snapshot, in either face. It is written over the methods of
the C++ classes, which it is mixed into: get, put, delete, exists, ttl, incr and more are theirs."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator as Iterates, Mapping

from . import _lapse
from ._memoize import Memoizer, memoizer
from ._types import (BytesLike, Duration, Entry, Expiring, Moment, Revision, Ttl, entry_of, revision_of,
                     to_datetime_or_none)

if TYPE_CHECKING:
    _ReaderBase = _lapse.Reader
    _KeyspaceBase = _lapse.Keyspace
else:
    _ReaderBase = _KeyspaceBase = object

_MISSING: Any = object()


class ReaderMethods(_ReaderBase):
    """Reading, in any keyspace and in snapshots."""

    def iterator(self, *, reverse: bool = False, prefix: BytesLike | None = None, start: BytesLike | None = None,
                 stop: BytesLike | None = None) -> _lapse.Iterator:
        """(key, value) pairs in key order; those from `start` on, before `stop`, that begin with `prefix`.

        >>> db = lapse.open()
        >>> db.update({"user:1": "ada", "user:2": "bob", "visits": "7"})
        >>> for key, value in db.iterator(prefix="user:", reverse=True):
        ...     print(key, value)
        b'user:2' b'bob'
        b'user:1' b'ada'
        """
        return self._iterate(reverse, prefix, start, stop)

    def prefix_iterator(self, prefix: BytesLike) -> _lapse.Iterator:
        """iterator(prefix=prefix)"""
        return self._iterate(False, prefix)

    def reverse_iterator(self) -> _lapse.Iterator:
        """iterator(reverse=True)"""
        return self._iterate(True)

    def reverse_prefix_iterator(self, prefix: BytesLike) -> _lapse.Iterator:
        """iterator(prefix=prefix, reverse=True)"""
        return self._iterate(True, prefix)

    def entry(self, key: BytesLike) -> Entry | None:
        """The value with its deadline, revision and date, in one read.

        >>> db = lapse.open(clock=lapse.ManualClock(1_000_000_000))
        >>> db.put("k", "v", ttl=60)
        >>> db.entry("k").deadline.isoformat()
        '2001-09-09T01:47:40+00:00'
        """
        return entry_of(self._entry(key))

    def history(self, key: BytesLike) -> list[Revision]:
        """Every value that is remembered, newest first, the present one included. For families that keep history.

        >>> db = lapse.open(history=True)
        >>> db["motto"] = "carpe diem"; db["motto"] = "tempus fugit"
        >>> [revision.value for revision in db.history("motto")]
        [b'tempus fugit', b'carpe diem']
        """
        return [revision_of(raw) for raw in self._history(key)]

    def get_revision(self, key: BytesLike, revision: int) -> Revision | None:
        """The value that commit `revision` wrote, visible or not."""
        raw = self._get_revision(key, revision)
        return None if raw is None else revision_of(raw)

    def expiring(self, start: Moment, stop: Moment, limit: int | None = None) -> list[Expiring]:
        """The keys that end from `start` on and before `stop`, soonest first."""
        return [Expiring(key, to_datetime_or_none(ms)) for key, ms in self._expiring(start, stop, limit)]

    def forecast(self, width: Duration, buckets: int) -> list[int]:
        """How many keys end in each of the next `buckets` stretches of `width`."""
        return self._forecast(width, buckets)

    @property
    def policies(self) -> dict[str, Any]:
        """The family's policies, under the names that family() takes them."""
        return self._policies()

    @property
    def name(self) -> str:
        """The family's name; a store's is that of its default family, "default"."""
        return self._name()


class KeyspaceMethods(ReaderMethods, _KeyspaceBase):
    """Writing, in stores and families."""

    def pop(self, key: BytesLike, default: Any = _MISSING) -> Any:
        """Removes a key and gives its value, in one step: of many who try, one gets it.

        >>> db = lapse.open()
        >>> db["code"] = "1234"
        >>> db.pop("code"), db.pop("code", None)
        (b'1234', None)
        """
        value = self._get_and_delete(key)
        if value is not None:
            return value
        if default is _MISSING:
            self._not_found(f"there is no key {key!r}")
        return default

    def popitem(self) -> tuple[bytes, bytes]:
        """Removes the first key, and gives it with its value. NotFoundError, a KeyError, if there is none.

        >>> db = lapse.open()
        >>> db.update({"job:2": "b", "job:1": "a"})
        >>> db.popitem()
        (b'job:1', b'a')
        """
        while True:
            with self._iterate() as first:
                if first.eof:
                    self._not_found("there are no keys")
                key = first.key
            value = self._get_and_delete(key)
            if value is not None:  # else another was faster
                return key, value

    def setdefault(self, key: BytesLike, default: BytesLike = b"", ttl: Ttl = None) -> bytes:
        """The key's value; `default`, written with `ttl`, if there is none."""
        while not self.put_if_absent(key, default, ttl):
            value = self.get(key)
            if value is not None:  # else it has just gone
                return value
        return default.encode() if isinstance(default, str) else bytes(default)

    def update(self, other: Mapping[Any, BytesLike] | Iterable[tuple[BytesLike, BytesLike]] = (), *,
               ttl: Ttl = None) -> None:
        """Writes many keys, all or none.

        >>> db = lapse.open()
        >>> db.update({"a": "1", "b": "2"}, ttl=60)
        >>> db.get_many(["a", "b", "c"])
        [b'1', b'2', None]
        """
        pairs: Iterable[Any] = other.items() if isinstance(other, Mapping) else other
        self._put_many([tuple(pair) for pair in pairs], ttl)

    def swap(self, key: BytesLike, value: BytesLike, ttl: Ttl = None) -> bytes | None:
        """Writes, and gives the value before."""
        return self._get_and_set(key, value, ttl)

    def memoize(self, ttl: Ttl = None, *, name: str | None = None, key: Callable[..., str | bytes] | None = None,
                dumps: Callable[[Any], str | bytes] | None = None,
                loads: Callable[[bytes], Any] | None = None) -> Memoizer:
        """Keeps what a function returns, for `ttl`, by its arguments. Threads that miss together wait for one of them
        to run it; if it raises, nothing is kept and they all get the exception. A thread that is in a transaction, or
        in a memoized function already, does not wait: it runs the function itself.

        >>> db = lapse.open()
        >>> @db.memoize(ttl=60)
        ... def square(n):
        ...     print("computing")
        ...     return n * n
        >>> square(7)
        computing
        49
        >>> square(7)
        49
        >>> square.forget(7)
        True

        Arguments are None, bool, int, float, str, and lists, tuples and dicts of these, and are told apart by their
        types as well: 1, 1.0, True and "1" are four. Anything else, an IntEnum too, is a TypeError; `key`, called with the
        arguments, gives the key's end instead. Results go through JSON, so a tuple comes back as a list, at the first
        call too; `dumps` and `loads` replace it. `key` and `dumps` give str or bytes. Keys begin with `name`, by default
        the function's module and name; a lambda and a function within another need one.
        """
        return memoizer(self, ttl, name, key, dumps, loads)


class PairIteration(_ReaderBase):
    """for key, value in db: the habit of the compatible face."""

    def __iter__(self) -> Iterates[tuple[bytes, bytes]]:
        return self._iterate()


def _as_stored(value: Any) -> bytes | None:
    """The bytes that a value comes back as. None: it could not be one."""
    if isinstance(value, str):
        return value.encode()
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else None


class _View:
    def __init__(self, keyspace: Any, which: int | None) -> None:
        self._keyspace = keyspace
        self._which = which

    def __len__(self) -> int:
        return int(self._keyspace.count())

    def _over(self, pairs: Iterates[tuple[bytes, bytes]]) -> Iterates[Any]:
        which = self._which
        return pairs if which is None else map(operator.itemgetter(which), pairs)

    def __iter__(self) -> Iterates[Any]:
        return self._over(self._keyspace._iterate())

    def __reversed__(self) -> Iterates[Any]:
        return self._over(self._keyspace._iterate(True))


class KeysView(_View):
    """What keys() gives."""

    def __contains__(self, key: object) -> bool:
        return key in self._keyspace


class ItemsView(_View):
    """What items() gives."""

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2 or item[0] not in self._keyspace:
            return False
        value = _as_stored(item[1])
        return value is not None and self._keyspace.get(item[0]) == value


class ValuesView(_View):
    """What values() gives."""

    def __contains__(self, value: object) -> bool:
        stored = _as_stored(value)
        return stored is not None and any(stored == each for each in self)


class DictReading(_ReaderBase):
    """A dict's habits, for reading: iteration gives keys, in order, of the moment when it began."""

    def __iter__(self) -> Iterates[bytes]:
        return iter(self.keys())

    def __reversed__(self) -> Iterates[bytes]:
        return reversed(self.keys())

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        """Whether there is any key; unlike len(), which may count them all."""
        return not self._iterate().eof

    def keys(self) -> KeysView:
        """All keys, in order."""
        return KeysView(self, 0)

    def values(self) -> ValuesView:
        """All values, in the order of their keys."""
        return ValuesView(self, 1)

    def items(self) -> ItemsView:
        """All (key, value), in the order of their keys."""
        return ItemsView(self, None)
