"""What there is once in a store, in either face: transactions, snapshots, locks, throttles, maintenance."""

from __future__ import annotations

import atexit
import os
import weakref
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _lapse
from ._coordination import Lock, Throttle
from ._keyspace import DictReading, ReaderMethods
from ._types import Duration, Moment, to_datetime
from .constants import CHECKPOINT_FULL, CHECKPOINT_PASSIVE, CHECKPOINT_RESTART, CHECKPOINT_TRUNCATE
from .errors import Error

if TYPE_CHECKING:
    _StoreBase = _lapse.Store
else:
    _StoreBase = object

_CHECKPOINT_MODES = (CHECKPOINT_PASSIVE, CHECKPOINT_FULL, CHECKPOINT_RESTART, CHECKPOINT_TRUNCATE)

_open_stores: weakref.WeakSet[Any] = weakref.WeakSet()


@atexit.register
def _close_what_is_open() -> None:
    for store in list(_open_stores):
        try:
            store.close()
        except Error:  # inherited over fork, or a disk that fails: there is nobody left to tell
            pass


def file_of(path: Any) -> bytes | None:
    """None and ":memory:" are in memory."""
    if path is None or path == ":memory:":
        return None
    return os.fsencode(path)


class Transaction:
    """What `with db.transaction():` opens. Inside of another one it is a part that can be undone by itself.
    When it has ended it may be used again, for another one."""

    def __init__(self, store: StoreMethods, write: bool) -> None:
        self._store = store
        self._write = write
        self._savepoint: Any = None
        self._entered = False
        self._done = False
        #: The commit's number, which is the revision of all it wrote; 0 until then.
        self.revision = 0

    def __enter__(self) -> Transaction:
        if self._entered:
            self._store._refuse("this transaction is open already: call transaction() once more for one inside of it")
        self._savepoint = None
        self.revision = 0
        if self._write and self._store.in_transaction:
            self._savepoint = self._store._savepoint()
        else:
            self._store.begin(self._write)
        self._entered = True
        self._done = False
        return self

    def rollback(self) -> None:
        """Undoes it now; leaving the block then does nothing more."""
        if not self._entered:
            self._store._refuse("this transaction is not open")
        if not self._done:
            self._done = True
            if self._savepoint is None:
                self._store.rollback()
            else:
                self._store._rollback_to(self._savepoint)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        try:
            if self._done or (kind is not None and (self._store.closed or self._store._inherited())):
                return
            if kind is not None:
                self.rollback()
            elif self._savepoint is None:
                self.revision = self._store._commit()
        finally:
            self._entered = False


class Snapshot(ReaderMethods, DictReading, _lapse.Snapshot):
    """A moment that stays, to read from like a dict. Made by db.snapshot().

    >>> db = lapse.open()
    >>> db["k"] = "then"
    >>> with db.snapshot() as before:
    ...     db["k"] = "now"
    ...     before["k"], db["k"]
    (b'then', b'now')
    """

    def __init__(self, store: Any, at: Moment | None = None, *, _of: Snapshot | None = None,
                 _family: Any = None) -> None:
        super().__init__(*((store, at) if _of is None else (_of, _family)))
        self._store = store

    def family(self, name: str) -> Snapshot:
        """The same moment in another family. NotFoundError if that has been dropped since; what was got before can be read on."""
        return Snapshot(self._store, _of=self, _family=_lapse.Family(self._store, name, "open", {}))

    def now(self) -> datetime:
        """The moment itself, in UTC."""
        return to_datetime(self._now_ms())

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if not self._inherited():
            self.close()


class StoreMethods(_StoreBase):
    """Mixed into KVStore and Store."""

    def _opened(self) -> None:
        _open_stores.add(self)

    def _own_family(self, name: str, **policies: Any) -> Any:
        raise NotImplementedError

    def transaction(self, *, write: bool = True) -> Transaction:
        """A block whose calls, by this thread, take effect together when it ends, or not at all if it raises.

        >>> db = lapse.open()
        >>> with db.transaction():
        ...     db["from"] = "90"; db["to"] = "10"
        >>> with db.transaction():
        ...     db["from"] = "0"
        ...     raise OSError("no")
        Traceback (most recent call last):
        OSError: no
        >>> db["from"]
        b'90'

        Other threads wait with their writes, and read what was before. With write=False all reads in the block see one
        moment.
        """
        return Transaction(self, write)

    def snapshot(self, at: Moment | None = None) -> Snapshot:
        """The store as it is now, or as far as families keep history as it was `at` a time."""
        return Snapshot(self, at)

    def lock(self, name: str, ttl: Duration, *, wait: Duration | None = None) -> Lock:
        """A lock that ends by itself; see Lock. `wait` is for its `with` block, as in Lock.acquire()."""
        return Lock(self, name, ttl, wait)

    def throttle(self, name: str, rate: int, per: Duration) -> Throttle:
        """At most `rate` calls per `per`; see Throttle."""
        return Throttle(self, name, rate, per)

    def now(self) -> datetime:
        """What the store's clock says, in UTC."""
        return to_datetime(self._now_ms())

    def list_column_families(self) -> list[str]:
        """The names of all families in order, "default" among them, which cannot be dropped."""
        return self._list_families()

    def drop_column_family(self, name: str) -> None:
        """Drops a family with its contents. NotFoundError if there is none."""
        self._drop_family(name)

    def configure(self, family: str = "default", **policies: Any) -> None:
        """Changes policies of a family; those not named stay, and so do the lifetimes that keys have.

        >>> db = lapse.open()
        >>> db.configure(history=10)
        >>> db.policies["history"]
        (10, None)
        """
        self._configure(family, policies)

    def checkpoint(self, mode: int = 0) -> tuple[int, int]:
        """Brings everything from the journal into the tree, in every mode. How much is left there: (0, 0)."""
        if mode not in _CHECKPOINT_MODES:
            self._refuse(f"there is no checkpoint mode {mode!r}")
        self._checkpoint()
        return (0, 0)

    def compact_to(self, path: str | bytes | os.PathLike[Any]) -> None:
        """Writes a compact copy of the present state to a file that does not exist yet: a backup."""
        self._compact_to(os.fsencode(path))

    def vacuum(self, n_pages: int = 0) -> None:
        """Accepted, with nothing to do: free space is used again by itself. compact_to() gives it back."""
        if n_pages < 0:
            self._refuse(f"n_pages is {n_pages}: it cannot be negative")
        self._check_open()
