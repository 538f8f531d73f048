"""What can be done with keys, in a store, a family or a snapshot, in either face. It is written over the methods of
the C++ classes, which it is mixed into: get, put, delete, exists, ttl, incr and more are theirs."""

from __future__ import annotations

import collections.abc
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
        """The key's value; `default`, written with `ttl`, if there is none. It cannot be None, as no value can."""
        if default is None:
            raise TypeError("default: bytes or str expected, not NoneType")
        while not self.put_if_absent(key, default, ttl):
            value = self.get(key)
            if value is not None:  # else it has just gone
                return value
        return default.encode() if isinstance(default, str) else bytes(default)

    def update(self, other: Mapping[Any, BytesLike] | Iterable[tuple[BytesLike, BytesLike]] = (), /, *,
               ttl: Ttl = None, **more: BytesLike) -> None:
        """Writes many keys, all or none: those of a mapping or of pairs, and keywords. `ttl` is their lifetime, not a key.

        >>> db = lapse.open()
        >>> db.update({"a": "1", "b": "2"}, ttl=60)
        >>> db.update(c="3")
        >>> db.get_many(["a", "c", "d"])
        [b'1', b'3', None]
        """
        pairs: Iterable[Any] = other.items() if isinstance(other, Mapping) else other
        self._put_many([*map(tuple, pairs), *more.items()], ttl)

    def swap(self, key: BytesLike, value: BytesLike, ttl: Ttl = None) -> bytes | None:
        """Writes, and gives the value before."""
        return self._get_and_set(key, value, ttl)

    def memoize(self, ttl: Ttl = None, *, name: str | None = None, key: Callable[..., str | bytes] | None = None,
                dumps: Callable[[Any], str | bytes] | None = None,
                loads: Callable[[bytes], Any] | None = None) -> Memoizer:
        """Keeps what a function returns, for `ttl`, by its arguments. Threads that miss together wait for one of them
        to run it; if it raises, nothing is kept and they all get the exception. A thread that is in a transaction, or
        in a memoized function already, does not wait: it runs the function itself. The result is written as by put(): if
        another thread's transaction is open for longer than the store waits, that is a BusyError, and nothing is kept.

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
    """What a view is of: of each pair the key, the value, or both."""

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


def _of_sets(operation: Callable[[Any, Any], Any], kind: type[Any]) -> Callable[[Any, Any], Any]:
    """An operator between a view and another side of that kind."""

    def operate(self: _SetView, other: Any) -> Any:
        return operation(set(self), self._stored_all(other)) if isinstance(other, kind) else NotImplemented

    return operate


class _SetView(_View, collections.abc.Set[Any]):
    """A view that is a set, as those of a dict are. The other side has str for the bytes that it is kept as. Results are sets,
    in memory."""

    def _stored(self, element: Any) -> Any:
        raise NotImplementedError

    def _stored_all(self, elements: Iterable[Any]) -> set[Any]:
        return set(map(self._stored, elements))

    def __and__(self, other: Any) -> Any:
        if not isinstance(other, collections.abc.Iterable):
            return NotImplemented
        return {element for element in self._stored_all(other) if element in self}  # not all that there is is looked at

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Whether nothing is in both."""
        return not any(element in self for element in other)

    __rand__ = __and__
    __or__ = __ror__ = _of_sets(operator.or_, collections.abc.Iterable)
    __xor__ = __rxor__ = _of_sets(operator.xor, collections.abc.Iterable)
    __sub__ = _of_sets(operator.sub, collections.abc.Iterable)
    __rsub__ = _of_sets(lambda own, other: other - own, collections.abc.Iterable)
    __eq__ = _of_sets(operator.eq, collections.abc.Set)
    __le__ = _of_sets(operator.le, collections.abc.Set)
    __lt__ = _of_sets(operator.lt, collections.abc.Set)
    __ge__ = _of_sets(operator.ge, collections.abc.Set)
    __gt__ = _of_sets(operator.gt, collections.abc.Set)


def _as_element(value: Any) -> Any:
    """The bytes, or what it is if it could not be any: then it is in no store."""
    stored = _as_stored(value)
    return value if stored is None else stored


class KeysView(_SetView):
    """What keys() gives: a set of bytes that follows the store.

    >>> db = lapse.open()
    >>> db.update(a="1", b="2")
    >>> sorted(db.keys() - {"a"}), db.keys() & {"a", "c"}, db.keys() == {"a", "b"}
    ([b'b'], {b'a'}, True)
    """

    def __contains__(self, key: object) -> bool:
        return key in self._keyspace

    def _stored(self, element: Any) -> Any:
        return _as_element(element)


class ItemsView(_SetView):
    """What items() gives: a set of pairs of bytes that follows the store."""

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2 or item[0] not in self._keyspace:
            return False
        value = _as_stored(item[1])
        return value is not None and self._keyspace.get(item[0]) == value

    def _stored(self, element: Any) -> Any:
        return tuple(map(_as_element, element)) if isinstance(element, tuple) else element


class ValuesView(_View):
    """What values() gives."""

    def __contains__(self, value: object) -> bool:
        stored = _as_stored(value)
        return stored is not None and any(stored == each for each in self)


collections.abc.KeysView.register(KeysView)
collections.abc.ItemsView.register(ItemsView)
collections.abc.ValuesView.register(ValuesView)


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
