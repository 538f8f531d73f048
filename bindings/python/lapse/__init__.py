"""Lapse, a key-value store whose speciality is time: keys that lapse, and keys that remember.

    >>> import lapse
    >>> db = lapse.open(history=True)                  # in memory; give it a path to stay
    >>> db["session:42", 1800] = "ada"                 # gone in half an hour
    >>> db["session:42"]
    b'ada'
    >>> db["motto"] = "carpe diem"; db["motto"] = "tempus fugit"
    >>> [past.value for past in db.history("motto")]
    [b'tempus fugit', b'carpe diem']

Two faces, one store: open() gives a dict of bytes, and KVStore is the compatible interface, whose iteration gives pairs.
Everything else is the same in both. Keys and values are bytes-like or str, which is UTF-8, and come back as bytes. Times
are datetimes or seconds since 1970, durations timedeltas or seconds.

Any thread may use a handle, and store calls run in parallel. A transaction belongs to the thread that began it. After
fork a handle raises UnavailableError: open the store anew, once the parent has closed it.
"""

from __future__ import annotations

from ._coordination import Lock, Throttle
from ._kvstore import ColumnFamily, KVStore
from ._lapse import FOREVER, KEEP, Iterator, __version__
from ._store import Family, Store, open
from ._store_methods import Snapshot, Transaction
from ._types import Entry, Expiring, ManualClock, Revision
from .constants import (CHECKPOINT_FULL, CHECKPOINT_PASSIVE, CHECKPOINT_RESTART, CHECKPOINT_TRUNCATE,
                        JOURNAL_DELETE, JOURNAL_WAL, NO_TTL, SYNC_FULL, SYNC_NORMAL, SYNC_OFF)
from .errors import (BusyError, CorruptError, DiskError, Error, InvalidArgumentError, LockedError,
                     NotFoundError, ReadOnlyError, ThrottledError, TooLargeError, UnavailableError)

__all__ = [
    "BusyError", "CHECKPOINT_FULL", "CHECKPOINT_PASSIVE", "CHECKPOINT_RESTART", "CHECKPOINT_TRUNCATE",
    "ColumnFamily", "CorruptError", "DiskError", "Entry", "Error", "Expiring", "FOREVER", "Family",
    "InvalidArgumentError", "Iterator", "JOURNAL_DELETE", "JOURNAL_WAL", "KEEP", "KVStore", "Lock",
    "LockedError", "ManualClock", "NO_TTL", "NotFoundError", "ReadOnlyError", "Revision", "SYNC_FULL",
    "SYNC_NORMAL", "SYNC_OFF", "Snapshot", "Store", "Throttle", "ThrottledError", "TooLargeError",
    "Transaction", "UnavailableError", "open",
]
