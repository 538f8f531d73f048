"""What is of another type, or cannot be, is refused by the name that the caller knows it by."""

from datetime import datetime, timedelta, timezone

import lapse
import pytest


def test_the_wrong_type_is_a_type_error_with_a_name(db):
    revised = db.family("revised", revisions=True)
    cases = {
        "by": lambda: db.incr("k", 1.5),
        "min": lambda: db.incr("k", min="0"),
        "max": lambda: db.incr("k", max=2.5),
        "limit": lambda: db.expiring(0, 1, limit="3"),
        "start": lambda: db.expiring("0", 1),
        "stop": lambda: db.expiring(0, None),
        "width": lambda: db.forecast("1", 1),
        "buckets": lambda: db.forecast(1, 1.5),
        "revision": lambda: revised.get_revision("k", "1"),
        "when": lambda: db.get_at("k", "noon"),
        "at": lambda: db.snapshot(at="noon"),
        "budget": lambda: db.purge_expired(budget="1"),
        "ttl": lambda: db.put("k", "v", ttl="60"),
        "wait": lambda: db.lock("l", 1).acquire(wait="1"),
        "rate": lambda: db.throttle("t", 1.5, 1),
        "per": lambda: db.throttle("t", 1, "1"),
        "name": lambda: db.family(5),
        "family": lambda: db.configure(b"default", counted=True),
        "history": lambda: db.configure(history="10"),
        "counted": lambda: db.configure(counted="yes"),
        "default_ttl": lambda: db.configure(default_ttl="60"),
        "jitter_percent": lambda: db.configure(jitter_percent=1.5),
        "create": lambda: lapse.open(create="yes"),
        "durability": lambda: lapse.open(durability=2),
        "buffer_bytes": lambda: lapse.open(buffer_bytes="64M"),
        "sweep_per_write": lambda: lapse.open(sweep_per_write=1.5),
        "busy_timeout": lambda: lapse.KVStore(busy_timeout="500"),
        "clock": lambda: lapse.open(clock=5),
        "now": lambda: lapse.ManualClock("noon"),
    }
    for name, call in cases.items():
        with pytest.raises(TypeError, match=rf"^{name}: .* expected, ") as caught:
            call()
        assert "cast" not in str(caught.value)


def test_a_number_that_cannot_be_is_an_invalid_argument_with_a_name(db):
    cases = {
        "by": lambda: db.incr("k", 2**63),
        "limit": lambda: db.expiring(0, 1, limit=-1),
        "buckets": lambda: db.forecast(1, -1),
        "revision": lambda: db.get_revision("k", -1),
        "expected": lambda: db.compare_and_set("k", -1, "v"),
        "ttl": lambda: db.put("k", "v", ttl=float("nan")),
        "when": lambda: db.get_at("k", float("nan")),
        "jitter_percent": lambda: db.configure(jitter_percent=101),
        "buffer_bytes": lambda: lapse.open(buffer_bytes=-1),
        "sweep_per_write": lambda: lapse.open(sweep_per_write=2**32),
        "busy_timeout": lambda: lapse.open(busy_timeout=-1),
        "durability": lambda: lapse.open(durability="sometimes"),
        "sync_level": lambda: lapse.KVStore(sync_level=9),
        "per": lambda: db.throttle("t", 1, 0),
    }
    for name, call in cases.items():
        with pytest.raises(lapse.InvalidArgumentError, match=rf"^{name}\b"):
            call()


@pytest.mark.parametrize("none", [0, -1, timedelta(0), timedelta(-1), (0, None), (None, 0), (3, timedelta(0))])
def test_a_history_of_nothing_is_refused(db, none):
    for call in (lambda: lapse.open(history=none), lambda: db.family("f", history=none),
                 lambda: db.configure(history=none)):
        with pytest.raises(lapse.InvalidArgumentError, match="history is .* False is none"):
            call()
    assert db.policies["history"] is None
    db.configure(history=(None, None))
    assert db.policies["history"] == (None, None)
    db.configure(history=False)
    assert db.policies["history"] is None


def test_a_deadline_beyond_the_calendar_is_none_everywhere(db):
    db.put("k", "v", ttl=timedelta(days=4_000_000))
    assert db.entry("k").deadline is None and db.ttl("k") > 0
    assert db.expiring(0, 1e15) == [(b"k", None)]


def test_the_ends_of_the_calendar_in_every_zone(db):
    west, east = timezone(timedelta(hours=-12)), timezone(timedelta(hours=12))
    for last in (datetime.max.replace(tzinfo=west), datetime.max.replace(tzinfo=east)):
        db.put("k", "v", ttl=last)
        assert db.ttl("k") > 0
    for first in (datetime.min.replace(tzinfo=west), datetime.min.replace(tzinfo=east)):
        assert db.expiring(first, 1) == []
    try:
        db.put("k", "v", ttl=datetime.max)  # local time: where it is not UTC, that may be beyond the calendar
    except lapse.InvalidArgumentError as error:
        assert "ttl" in str(error)


def test_a_path_of_any_bytes(tmp_path):
    path = bytes(tmp_path) + b"/caf\xe9.db"
    with lapse.open(path) as db:
        db["k"] = "v"
        db.compact_to(path + b".copy")
    with lapse.KVStore(path + b".copy") as copy:
        assert copy["k"] == b"v"
