"""The compatible face: KVStore and ColumnFamily."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from . import _lapse
from ._keyspace import KeyspaceMethods, PairIteration
from ._store_methods import StoreMethods, file_of
from ._types import ManualClock
from .constants import JOURNAL_WAL, SYNC_FULL, SYNC_NORMAL, SYNC_OFF
from .errors import InvalidArgumentError

# SYNC_OFF is "normal", which costs no more, as in C: there a config that is all zero must not take it for a wish.
_DURABILITY = {SYNC_OFF: "normal", SYNC_NORMAL: "normal", SYNC_FULL: "full"}

_GRACE_MS = 50  # for single operations of other threads, as in C


class _Message(str):
    """A str that may also be called: errmsg is a method to some programs, an attribute to others."""

    def __call__(self) -> str:
        return str(self)


class KVStore(KeyspaceMethods, PairIteration, StoreMethods, _lapse.Store):
    """A store at `path`, or in memory.

    >>> with lapse.KVStore() as db:
    ...     db["greeting"] = "hello"
    ...     db["session", 1800] = b"ada"
    ...     print(db.get("greeting"), db.get("nothing"), db.ttl("greeting"))
    ...     for key, value in db:
    ...         print(key, value)
    b'hello' None None
    b'greeting' b'hello'
    b'session' b'ada'

    `busy_timeout` is in milliseconds, and at least 50: single writes of other threads are waited for, their transactions
    are a BusyError. `sync_level` is SYNC_NORMAL or SYNC_FULL; SYNC_OFF is the former. `journal_mode`, `cache_size`,
    `page_size`, `wal_size_limit`, `allow_encrypted` and `full_mutex` have no meaning here, and are accepted.
    """

    def __init__(self, path: Any = None, *, journal_mode: int = JOURNAL_WAL, sync_level: int = SYNC_NORMAL,
                 cache_size: int = 0, page_size: int = 0, read_only: int | bool = False, busy_timeout: int = 0,
                 wal_size_limit: int = 0, allow_encrypted: int | bool = False, full_mutex: int | bool = False,
                 clock: ManualClock | None = None) -> None:
        if sync_level not in _DURABILITY:
            raise InvalidArgumentError(f"sync_level: SYNC_OFF, SYNC_NORMAL or SYNC_FULL expected, not {sync_level!r}")
        if not isinstance(busy_timeout, int):
            raise TypeError(f"busy_timeout: int expected, in milliseconds, not {type(busy_timeout).__name__}")
        super().__init__(file_of(path), {
            "durability": _DURABILITY[sync_level],
            "read_only": bool(read_only),
            "busy_timeout": max(busy_timeout, _GRACE_MS) / 1000 if busy_timeout >= 0 else busy_timeout,
            "clock": clock,
        })
        self._opened()

    def _own_family(self, name: str, **policies: Any) -> ColumnFamily:
        return ColumnFamily(self, name, "either", policies)

    def create_column_family(self, name: str) -> ColumnFamily:
        """Makes a new one. InvalidArgumentError if there is one of that name."""
        return ColumnFamily(self, name, "create", {})

    def open_column_family(self, name: str) -> ColumnFamily:
        """Opens one that is there. NotFoundError if it is not."""
        return ColumnFamily(self, name, "open", {})

    def default_column_family(self) -> ColumnFamily:
        """The one that the store itself stands for."""
        return ColumnFamily(self, "default", "default", {})

    @property
    def errmsg(self) -> _Message:
        """What the latest call that failed on this handle, its families, snapshots or iterators, had to say."""
        return _Message(self._errmsg())

    def __enter__(self) -> KVStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if not self._inherited():  # else there is nothing to close, and what the block raised is the news
            self.close()


class ColumnFamily(KeyspaceMethods, PairIteration, _lapse.Family):
    """Keys of their own within a KVStore.

    >>> db = lapse.KVStore()
    >>> with db.create_column_family("users") as users:
    ...     users["ada"] = "admin"
    >>> "ada" in db, db.open_column_family("users")["ada"]
    (False, b'admin')
    """

    def __enter__(self) -> ColumnFamily:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()
