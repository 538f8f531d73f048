"""The face with a dict's habits: lapse.open(), Store and Family."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from types import TracebackType
from typing import Any

from . import _lapse
from ._keyspace import DictReading, KeyspaceMethods
from ._store_methods import Snapshot, StoreMethods, file_of
from ._types import Duration, History, ManualClock


class Store(KeyspaceMethods, DictReading, StoreMethods, _lapse.Store):
    """What open() gives: a dict of bytes whose keys may have lifetimes and a past. Also has every method of KVStore;
    the one difference is that iterating it gives keys."""

    def __init__(self, path: Any, options: dict[str, Any]) -> None:
        super().__init__(file_of(path), options)
        self._opened()

    def family(self, name: str, *, create: bool = True, **policies: Any) -> Family:
        """The family `name`, made with these policies if there is none. InvalidArgumentError if it is there with others:
        open it without them, and change them by configure().

        >>> db = lapse.open()
        >>> codes = db.family("codes", default_ttl=300, require_ttl=True)
        >>> codes["ada"] = "1234"
        >>> codes.ttl("ada") <= 300
        True

        Policies: history, default_ttl, max_ttl, require_ttl, jitter_percent, counted, revisions.
        """
        return Family(self, name, "either" if create else "open", policies)

    def _own_family(self, name: str, **policies: Any) -> Family:
        return self.family(name, **policies)

    def create_column_family(self, name: str, **policies: Any) -> Family:
        """Makes a new family. InvalidArgumentError if there is one of that name."""
        return Family(self, name, "create", policies)

    def open_column_family(self, name: str) -> Family:
        """Opens a family that is there. NotFoundError if it is not."""
        return Family(self, name, "open", {})

    def default_column_family(self) -> Family:
        """The one that the store itself stands for."""
        return Family(self, "default", "default", {})

    def errmsg(self) -> str:
        """What the latest call that failed on this handle, its families, snapshots or iterators, had to say."""
        return self._errmsg()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if not self._inherited():  # else there is nothing to close, and what the block raised is the news
            self.close()


class Family(KeyspaceMethods, DictReading, _lapse.Family):
    """Keys of their own within a store, with policies of their own. A dict like the store itself."""

    def __enter__(self) -> Family:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()


MutableMapping.register(Store)
MutableMapping.register(Family)
Mapping.register(Snapshot)


def open(path: Any = None, *, create: bool = True, read_only: bool = False, durability: str = "normal",
         busy_timeout: Duration | None = None, sync_interval: Duration | None = None,
         background_drain: bool = False, buffer_bytes: int | None = None, sweep_per_write: int = 0,
         salvage: bool = False, clock: ManualClock | None = None, history: History = None,
         **policies: Any) -> Store:
    """Opens or creates the store at `path`; without one, a store in memory.

    >>> from datetime import timedelta
    >>> db = lapse.open(history=10)
    >>> db.put("session:42", "ada", ttl=timedelta(minutes=30))
    >>> db["motto"] = "everything flows"
    >>> dict(db)
    {b'motto': b'everything flows', b'session:42': b'ada'}

    `durability`: "full" survives a power cut, "normal" kill -9, with a sync each `sync_interval`; "none" as that,
    without the interval. `busy_timeout`: how long a write waits for another thread's transaction; None, as long as it
    takes. `history` and further policies, as family() takes them, are what the default family of a new store gets; a store that
    has others is an InvalidArgumentError: open it without them, and change them by configure(). NotFoundError, BusyError, CorruptError and Error say what is in the way.
    """
    if history is not None:
        policies["history"] = history
    return Store(path, {
        "create": create,
        "read_only": read_only,
        "durability": durability,
        "busy_timeout": busy_timeout,
        "sync_interval": sync_interval,
        "background_drain": background_drain,
        "buffer_bytes": buffer_bytes,
        "sweep_per_write": sweep_per_write,
        "salvage": salvage,
        "clock": clock,
        "policies": policies,
    })
