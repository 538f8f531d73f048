"""Types that both faces share: what goes in, and the records that come out."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import NamedTuple, Optional, Union

from . import _lapse

# Keys and values go in as any of these, and come out as bytes. str is UTF-8.
BytesLike = Union[str, bytes, bytearray, memoryview]
# Seconds, or a timedelta.
Duration = Union[int, float, timedelta]
# Seconds since 1970, or a datetime; a naive one is local time.
Moment = Union[int, float, datetime]
# How long a key lives: from now on, until a datetime, KEEP or FOREVER. None: what the family says.
Ttl = Union[int, float, timedelta, datetime, _lapse.NamedLifetime, None]
# What a family remembers: True everything, an int so many values, a timedelta so long, a tuple both.
History = Union[bool, int, timedelta, tuple[Optional[int], Optional[Duration]], None]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_datetime(ms: int) -> datetime:
    """Milliseconds since 1970 as a datetime in UTC."""
    return _EPOCH + timedelta(milliseconds=ms)


def to_datetime_or_none(ms: int | None) -> datetime | None:
    """The same, None for never and for what lies beyond the year 9999."""
    try:
        return None if ms is None else to_datetime(ms)
    except OverflowError:
        return None


class Entry(NamedTuple):
    """A value with its dates. `deadline` is None for a permanent key; `revision` and `written_at` are 0 and None in a
    family without revisions."""

    value: bytes
    deadline: datetime | None
    revision: int
    written_at: datetime | None


class Revision(NamedTuple):
    """One value that a key had, visible from `written_at` until `ended_at` (None: still). `ending` is None,
    "overwritten", "erased" or "expired"."""

    value: bytes
    revision: int
    written_at: datetime
    ended_at: datetime | None
    ending: str | None
    deadline: datetime | None


class Expiring(NamedTuple):
    """A key and when it ends; as in Entry, None is beyond the year 9999."""

    key: bytes
    deadline: datetime | None


def entry_of(raw: tuple[bytes, int | None, int, int] | None) -> Entry | None:
    if raw is None:
        return None
    value, deadline_ms, revision, written_at_ms = raw
    return Entry(value, to_datetime_or_none(deadline_ms), revision,
                 to_datetime(written_at_ms) if revision else None)


def revision_of(raw: tuple[bytes, int, int, int | None, str | None, int | None]) -> Revision:
    value, revision, written_at_ms, ended_at_ms, ending, deadline_ms = raw
    return Revision(value, revision, to_datetime(written_at_ms), to_datetime_or_none(ended_at_ms), ending,
                    to_datetime_or_none(deadline_ms))


class ManualClock(_lapse.ManualClock):
    """A clock that stands still until told otherwise, for tests. Starts at `now`, or in November 2023.

    >>> clock = lapse.ManualClock()
    >>> db = lapse.open(clock=clock)
    >>> db["code", 30] = "1234"
    >>> clock.advance(29.999); "code" in db
    True
    >>> clock.advance(0.001); "code" in db
    False
    """

    def __init__(self, now: Moment = 1_700_000_000) -> None:
        super().__init__(now)

    def now(self) -> datetime:
        """What it says, as a datetime in UTC."""
        return to_datetime(self._now_ms())

    def time(self) -> float:
        """What it says, in seconds since 1970."""
        return self._now_ms() / 1000
