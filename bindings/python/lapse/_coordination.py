"""Locks that end by themselves, and throttles: small things made of a key with a lifetime. Each kind has a family of its
own in the store, "lapse.locks" and "lapse.throttles", made when it is first used."""

from __future__ import annotations

import math
import threading
import time
import uuid
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._types import Duration
from .errors import Error, InvalidArgumentError, LockedError, ThrottledError

if TYPE_CHECKING:
    from ._store_methods import StoreMethods

_FIRST_PAUSE = 0.001  # seconds between two tries for a lock: doubled each time, up to the longest
_LONGEST_PAUSE = 0.1


def _seconds(duration: Duration, what: str) -> float:
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if not isinstance(duration, (int, float)):
        raise TypeError(f"{what}: seconds or timedelta expected, not {type(duration).__name__}")
    return duration


def _lifetime(duration: Duration, what: str) -> Duration:
    """Refuses what would never end, or has ended before it began: None, FOREVER, a datetime, 0."""
    if not 0 < _seconds(duration, what) < math.inf:
        raise InvalidArgumentError(f"{what} is {duration!r}: more than 0 expected, and an end")
    return duration


class _Hold(threading.local):
    """What a thread has of a lock: the token that stands in the store while it holds it, and its fence."""

    token = b""
    fence = 0


class Lock:
    """A lock that one holder has for `ttl`, seconds or a timedelta, whatever becomes of the holder. Made by db.lock().

    >>> db = lapse.open()
    >>> with db.lock("report", ttl=30) as lock:
    ...     db.lock("report", ttl=30).acquire(wait=0)
    False

    `fence` grows with each acquisition: whoever is handed work along with it can refuse the work of an earlier holder
    that has not noticed that its time is over.

    Threads may share the object: each holds the lock, or does not, by itself. Who holds it and acquires it once more gets a
    LockedError. Locks are kept in the store, and a store is open in one process at a time: so that is how far they reach.

    A transaction that is begun under a lock ends before it. If the block raises first, the transaction is rolled back.
    """

    def __init__(self, store: StoreMethods, name: str, ttl: Duration, wait: Duration | None) -> None:
        self._store = store
        self._family: Any = None
        self._hold = _Hold()
        self._wait = wait
        self.name = name
        self.ttl = _lifetime(ttl, "ttl")

    @property
    def fence(self) -> int:
        """The number of this thread's latest acquisition; 0 before the first."""
        return self._hold.fence

    def _locks(self) -> Any:
        if self._store.in_transaction:  # nobody else would see it, and the transaction keeps them out anyway
            raise InvalidArgumentError("locks are not for use inside of a transaction")
        if self._family is None:
            self._family = self._store._own_family("lapse.locks", revisions=True)
        return self._family

    def acquire(self, wait: Duration | None = None) -> bool:
        """Whether it was free, or came free within `wait` seconds (by default: however long that takes). Another thread's
        transaction is waited for as by any write: a KVStore, and open() with a `busy_timeout`, may raise BusyError."""
        locks = self._locks()
        if self.held():
            raise LockedError(f"this thread holds the lock {self.name!r} already")
        token = uuid.uuid4().bytes
        give_up = None if wait is None else time.monotonic() + _seconds(wait, "wait")
        pause = _FIRST_PAUSE
        while not locks.put_if_absent(self.name, token, self.ttl):
            if give_up is not None:
                pause = min(pause, give_up - time.monotonic())
                if pause <= 0:
                    return False
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        self._hold.token = token
        held = locks.entry(self.name)
        self._hold.fence = held.revision if held is not None and held.value == token else 0
        return True

    def release(self) -> bool:
        """Whether it was still ours. One that has passed to another stays theirs."""
        return bool(self._hold.token) and self._locks().compare_and_delete(self.name, self._hold.token)

    def renew(self, ttl: Duration | None = None) -> bool:
        """Holds it for `ttl` from now on. False: it is no longer ours."""
        lifetime = self.ttl if ttl is None else _lifetime(ttl, "ttl")
        locks = self._locks()
        with self._store.transaction():
            return self.held() and locks.expire(self.name, lifetime)

    def held(self) -> bool:
        """Whether it is ours, this thread's, at this moment."""
        return bool(self._hold.token) and self._family.get(self.name) == self._hold.token

    def __enter__(self) -> Lock:
        if not self.acquire(self._wait):
            raise LockedError(f"the lock {self.name!r} is held by another")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if error is None:
            self.release()
            return
        try:
            if self._store.in_transaction:  # begun in the block, as locks are acquired outside of any
                self._store.rollback()
            self.release()
        except Error as failure:  # the one to be seen is the block's own
            error.add_note(f"the lock {self.name!r} was not released: {failure}")


class Throttle:
    """At most `rate` calls per `per`, counted from the first one. Made by db.throttle().

    >>> db = lapse.open(clock=(clock := lapse.ManualClock()))
    >>> logins = db.throttle("login:ada", rate=3, per=60)
    >>> [logins.allow() for _ in range(4)]
    [True, True, True, False]
    >>> clock.advance(15); logins.retry_after()
    45.0
    >>> clock.advance(45); logins.allow()
    True

    In a `with`, a call too many is a ThrottledError.
    """

    def __init__(self, store: StoreMethods, name: str, rate: int, per: Duration) -> None:
        if not isinstance(rate, int):
            raise TypeError(f"rate: int expected, not {type(rate).__name__}")
        if rate < 1:
            raise InvalidArgumentError("a throttle lets at least one call through")
        self._store = store
        self._family: Any = None
        self.name = name
        self.rate = rate
        self.per = _lifetime(per, "per")

    @property
    def _counts(self) -> Any:
        if self._store.in_transaction:  # which may make the family, and then come to nothing
            return self._store._own_family("lapse.throttles")
        if self._family is None:
            self._family = self._store._own_family("lapse.throttles")
        return self._family

    def allow(self, calls: int = 1) -> bool:
        """Whether so many calls may go ahead now; if so they are counted."""
        if calls < 1:
            raise InvalidArgumentError(f"calls is {calls}: at least one expected")
        return self._counts.incr(self.name, calls, self.per, max=self.rate) is not None

    def remaining(self) -> int:
        """How many calls would be allowed now."""
        return max(0, self.rate - int(self._counts.get(self.name, b"0")))  # others may count up to a higher rate

    def retry_after(self) -> float:
        """Seconds until all `rate` calls are allowed again; 0.0 if any is allowed now."""
        entry = self._counts.get(self.name)
        if entry is None or int(entry) < self.rate:
            return 0.0
        try:
            return self._counts.ttl(self.name) or 0.0
        except KeyError:  # over, just now
            return 0.0

    def __enter__(self) -> Throttle:
        if not self.allow():
            error = ThrottledError(f"{self.name!r}: more than {self.rate} calls in {_seconds(self.per, 'per'):g} s")
            error.retry_after = self.retry_after()
            raise error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        pass
