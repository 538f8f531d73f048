"""The face of lapse.open(): a dict with a sense of time."""

import collections.abc
import operator
from datetime import datetime, timedelta, timezone

import lapse
import pytest


@pytest.fixture(params=["store", "family"])
def keys(request, db):
    return db if request.param == "store" else db.family("other")


def test_it_is_a_mapping(keys):
    assert isinstance(keys, collections.abc.MutableMapping)
    keys.update({"b": "2", "a": "1"})
    assert list(keys) == [b"a", b"b"] and list(reversed(keys)) == [b"b", b"a"]
    assert list(keys.keys()) == [b"a", b"b"]
    assert list(keys.values()) == [b"1", b"2"]
    assert list(keys.items()) == [(b"a", b"1"), (b"b", b"2")]
    assert len(keys) == len(keys.items()) == 2
    assert dict(keys) == {b"a": b"1", b"b": b"2"}
    assert "a" in keys.keys() and (b"a", b"1") in keys.items() and ("a", b"2") not in keys.items()
    assert b"2" in keys.values() and "2" in keys.values() and "3" not in keys.values()
    assert ("a", "1") in keys.items() and ("a", bytearray(b"1")) in keys.items()


def test_what_cannot_be_a_key_or_a_value_is_not_in_there(keys):
    keys["5"] = "5"
    for other in (5, None, 1.5, ["5"], object()):
        assert other not in keys and other not in keys.keys() and other not in keys.values()
        assert (other, "5") not in keys.items() and ("5", other) not in keys.items()
    assert "5" not in keys.items() and ("5",) not in keys.items()


def test_a_snapshot_has_a_family_that_is_dropped_later_if_it_was_asked_for_before(db):
    db.family("f")["k"] = "v"
    with db.snapshot() as before:
        asked = before.family("f")
        db.drop_column_family("f")
        assert asked["k"] == b"v"
        with pytest.raises(lapse.NotFoundError):
            before.family("f")


def test_views_are_sets_as_those_of_a_dict_are(keys):
    plain = {b"a": b"1", b"b": b"2"}
    keys.update(plain)
    operators = [operator.and_, operator.or_, operator.sub, operator.xor]
    comparisons = [operator.eq, operator.ne, operator.le, operator.lt, operator.ge, operator.gt]
    for others in (set(), {b"a"}, {b"a", b"c"}, {b"a", b"b"}, {b"a", b"b", b"c"}, plain.keys()):
        for operation in operators + comparisons:
            assert operation(keys.keys(), others) == operation(plain.keys(), others)
            assert operation(others, keys.keys()) == operation(others, plain.keys())
        assert keys.keys().isdisjoint(others) == plain.keys().isdisjoint(others)
    for others in (set(), {(b"a", b"1")}, {(b"a", b"2"), 5}, set(plain.items())):
        for operation in operators + comparisons:
            assert operation(keys.items(), others) == operation(plain.items(), others)
    assert type(keys.keys() & []) is set and keys.keys() - ["a"] == {b"b"}  # any iterable
    assert isinstance(keys.keys(), collections.abc.KeysView) and isinstance(keys.items(), collections.abc.ItemsView)
    assert isinstance(keys.keys(), collections.abc.Set) and isinstance(keys.values(), collections.abc.ValuesView)
    assert keys.keys() == keys.keys() and keys.keys() != [b"a", b"b"] and keys.items() == keys.items()
    with pytest.raises(TypeError):
        keys.keys() & 5


def test_views_take_str_for_bytes(keys):
    keys.update(a="1", b="2")
    assert keys.keys() & {"a", "c"} == {b"a"} == {"a", "c"} & keys.keys() and keys.keys() | {"c"} == {b"a", b"b", b"c"}
    assert keys.keys() - {"a"} == {b"b"} and {"a", "c"} - keys.keys() == {b"c"} and keys.keys() ^ {"a", "c"} == {b"b", b"c"}
    assert keys.keys() == {"a", "b"} and keys.keys() > {"a"} and not keys.keys().isdisjoint({"b"})
    assert keys.items() & {("a", "1"), ("b", "1")} == {(b"a", b"1")} and keys.items() >= {("b", "2")}


def test_popitem(keys):
    keys.update({"b": "2", "a": "1"})
    assert [keys.popitem(), keys.popitem()] == [(b"a", b"1"), (b"b", b"2")]
    with pytest.raises(KeyError):
        keys.popitem()


def test_emptiness(keys):
    assert not keys
    keys["k"] = "v"
    assert keys


def test_pop_setdefault_update_swap(keys, clock):
    assert keys.setdefault("k", "v", ttl=10) == b"v"
    assert keys.setdefault("k", "w") == b"v"
    assert keys.pop("k") == b"v"
    assert keys.pop("k", 7) == 7
    with pytest.raises(KeyError):
        keys.pop("k")
    keys.update([("a", "1"), ["b", b"2"]], ttl=timedelta(seconds=5))
    assert keys.ttl("b") == 5.0
    assert keys.swap("a", "3") == b"1" and keys.swap("c", "4") is None
    clock.advance(5)
    assert list(keys) == [b"a", b"c"]


def test_update_takes_keywords(keys):
    keys.update({"a": "1", "b": "1"}, b="2", other="3", self="4", ttl=60)
    assert dict(keys) == {b"a": b"1", b"b": b"2", b"other": b"3", b"self": b"4"} and keys.ttl("self") == 60.0
    with pytest.raises(TypeError):
        keys.update(a="5", b=6)
    assert keys["a"] == b"1"


def test_there_is_no_value_none(keys):
    for present in (False, True):
        with pytest.raises(TypeError, match="default: bytes or str expected, not NoneType"):
            keys.setdefault("k", None)
        keys["k"] = "v"


def test_a_store_is_not_merged_by_an_operator(keys):
    """A dict's | would copy all of it, and |= looks like that."""
    with pytest.raises(TypeError):
        keys | {}
    with pytest.raises(TypeError):
        keys |= {}


def test_update_is_all_or_nothing(keys):
    with pytest.raises(lapse.TooLargeError):
        keys.update({"a": "1", "b" * 100_000: "2"})
    with pytest.raises(TypeError):
        keys.update({"a": "1", "b": 2})
    assert len(keys) == 0


def test_timedelta_and_datetime_are_lifetimes(keys, clock):
    keys.put("delta", "v", ttl=timedelta(minutes=1))
    keys["until", clock.now() + timedelta(minutes=2)] = "v"
    assert keys.ttl("delta") == 60.0 and keys.ttl("until") == 120.0
    keys.put("naive", "v", datetime.fromtimestamp(clock.time() + 180))  # local time, as everywhere in Python
    assert keys.ttl("naive") == 180.0
    elsewhere = timezone(timedelta(hours=-7))
    keys.put("zone", "v", (clock.now() + timedelta(minutes=4)).astimezone(elsewhere))
    assert keys.ttl("zone") == 240.0
    keys.put("fraction", "v", timedelta(microseconds=1))
    assert keys.ttl("fraction") == 0.001
    for bad in ("60", b"60", [60]):
        with pytest.raises(TypeError):
            keys.put("k", "v", ttl=bad)
    for bad in (timedelta(0), timedelta(-1), timedelta.max):
        with pytest.raises(ValueError):
            keys.put("k", "v", ttl=bad)


def test_keep_and_forever(db):
    db.put("k", "v", ttl=60)
    db.put("k", "w", ttl=lapse.KEEP)
    assert db.ttl("k") == 60.0
    brief = db.family("brief", default_ttl=30)
    brief["k"] = "v"
    assert brief.ttl("k") == 30.0
    brief.put("k", "v", ttl=lapse.FOREVER)
    assert brief.ttl("k") is None
    assert repr(lapse.KEEP) == "lapse.KEEP"


def test_changing_deadlines(db, clock):
    db["k"] = "v"
    assert db.expire("k", 10) and db.ttl("k") == 10.0
    assert db.expire("k", clock.now() + timedelta(seconds=20)) and db.ttl("k") == 20.0
    assert db.touch("k", timedelta(seconds=30)) == b"v" and db.ttl("k") == 30.0
    assert db.touch("k", clock.now() + timedelta(seconds=40)) == b"v" and db.ttl("k") == 40.0
    with db.transaction():
        assert db.touch("k", clock.now() + timedelta(seconds=50)) == b"v" and db.ttl("k") == 50.0
    for call in (db.touch, db.expire):
        for no_deadline in (None, lapse.KEEP, lapse.FOREVER):
            with pytest.raises(TypeError, match="ttl: .* expected"):
                call("k", no_deadline)
    assert db.persist("k") and db.ttl("k") is None
    assert db.touch("k", clock.now() + timedelta(seconds=20)) == b"v" and db.ttl("k") is None
    assert db.touch("none", clock.now() + timedelta(seconds=20)) is None
    family = db.family("other")
    family["k", 10] = "v"
    assert family.touch("k", clock.now() + timedelta(seconds=20)) == b"v" and family.ttl("k") == 20.0
    assert not db.expire("none", 10) and db.touch("none", 10) is None and not db.persist("none")


def test_incr(keys, clock):
    assert [keys.incr("hits", ttl=60), keys.incr("hits", 5), keys.incr("hits", by=-2)] == [1, 6, 4]
    assert keys.ttl("hits") == 60.0 and keys["hits"] == b"4"
    assert keys.incr("hits", 1, max=4) is None and keys.incr("hits", -5, min=0) is None
    keys["word"] = "no number"
    with pytest.raises(ValueError):
        keys.incr("word")
    clock.advance(60)
    assert keys.incr("hits") == 1


def test_compare_and_set(db):
    db["k"] = "v"
    assert not db.compare_and_set("k", "other", "w") and db.compare_and_set("k", "v", "w", ttl=5)
    assert not db.compare_and_delete("k", "v") and db.compare_and_delete("k", "w")
    fenced = db.family("fenced", revisions=True)
    fenced["k"] = "v"
    revision = fenced.entry("k").revision
    assert not fenced.compare_and_set("k", revision + 1, "w") and fenced.compare_and_set("k", revision, "w")


def test_append_and_delete_prefix(db):
    assert db.append("log", "one") == 3 and db.append("log", ",two") == 7
    db.update({"a:1": "", "a:2": "", "b": ""})
    assert db.delete_prefix("a:") == 2 and list(db) == [b"b", b"log"]


def test_history_and_get_at(past, clock):
    first = clock.now()
    past["motto"] = "carpe diem"
    clock.advance(3600)
    past.put("motto", "tempus fugit", ttl=3600)
    clock.advance(7200)
    assert past.get_at("motto", first) == b"carpe diem"
    assert past.get_at("motto", first.timestamp() + 3600) == b"tempus fugit"
    assert past.get_at("motto", first + timedelta(hours=2)) is None
    assert past.get_at("motto", first - timedelta(seconds=1), b"before") == b"before"
    newest, oldest = past.history("motto")
    assert (newest.value, newest.ending, newest.ended_at) == (b"tempus fugit", "expired", first + timedelta(hours=2))
    assert (oldest.value, oldest.ending, oldest.written_at) == (b"carpe diem", "overwritten", first)
    assert past.get_revision("motto", oldest.revision) == oldest
    assert past.restore("motto", first) and past["motto"] == b"carpe diem"
    with pytest.raises(ValueError):
        past.get_at("motto", clock.now() + timedelta(seconds=1))


def test_history_needs_a_family_that_keeps_it(db):
    with pytest.raises(ValueError):
        db.history("k")
    db.configure(history=2)
    for value in "abc":
        db["k"] = value
    assert [revision.value for revision in db.history("k")] == [b"c", b"b"]


def test_snapshots(db, past, clock):
    other = db.family("other")
    db["k"] = other["k"] = "then"
    with db.snapshot() as before:
        db["k"] = other["k"] = "now"
        db["new"] = "v"
        assert before["k"] == before.family("other")["k"] == b"then"
        assert "new" not in before and dict(before) == {b"k": b"then"} and len(before) == 1
        assert before.now() == clock.now()
        with pytest.raises(AttributeError):
            before.put("k", "v")
        it = before.iterator()
    assert list(it) == [(b"k", b"then")]  # it holds on to the moment by itself
    with pytest.raises(lapse.UnavailableError):
        before["k"]
    noon = clock.now()
    past["k"] = "at noon"
    clock.advance(60)
    del past["k"]
    assert past.snapshot(at=noon)["k"] == b"at noon" and "k" not in past.snapshot()


def test_transaction_blocks(db):
    with db.transaction() as outer:
        db["a"] = "1"
        with pytest.raises(RuntimeError):
            with db.transaction():
                db["b"] = "2"
                raise RuntimeError
        with db.transaction():
            db["c"] = "3"
    assert dict(db) == {b"a": b"1", b"c": b"3"} and outer.revision > 0
    with db.transaction() as given_up:
        db["d"] = "4"
        given_up.rollback()
    assert "d" not in db and not db.in_transaction
    with db.transaction(write=False), pytest.raises(lapse.ReadOnlyError):
        db["e"] = "5"


def test_a_transaction_object_may_be_used_again(db):
    transaction = db.transaction()
    for name in ("a", "b"):
        with transaction:
            db[name] = "v"
    with transaction:
        transaction.rollback()
    assert transaction.revision == 0
    with pytest.raises(RuntimeError), transaction:
        db["c"] = "v"
        raise RuntimeError
    with transaction:
        db["d"] = "v"
    assert transaction.revision > 0 and dict(db) == {b"a": b"v", b"b": b"v", b"d": b"v"}
    with db.transaction(), transaction:  # a part of another one, this time
        db["e"] = "v"
    assert "e" in db


def test_a_transaction_object_cannot_be_entered_within_itself(db):
    transaction = db.transaction()
    with transaction:
        db["k"] = "v"
        with pytest.raises(ValueError, match="open already"):
            transaction.__enter__()
    assert db["k"] == b"v" and not db.in_transaction
    with pytest.raises(ValueError, match="not open"):
        transaction.rollback()


def test_families_change_with_the_transaction(db):
    old = db.family("old")
    old["k"] = "v"
    with pytest.raises(RuntimeError), db.transaction():
        made = db.family("made", history=True)
        made["k"] = "v"
        assert db.family("made", create=False)["k"] == db.open_column_family("made")["k"] == b"v"
        db.drop_column_family("old")
        db.create_column_family("other")
        assert db.list_column_families() == ["default", "made", "other"]
        with pytest.raises(lapse.NotFoundError):
            db.open_column_family("old")
        raise RuntimeError
    assert db.list_column_families() == ["default", "old"] and old["k"] == b"v"
    with pytest.raises(lapse.NotFoundError):
        made["k"]
    with db.transaction():
        made = db.family("made")
        made["k"] = "v"
        with db.transaction() as part:
            db.drop_column_family("made")
            part.rollback()
    assert made["k"] == b"v" and db.list_column_families() == ["default", "made", "old"]
    with db.transaction(write=False):
        assert db.family("old")["k"] == b"v"
        for call in (lambda: db.family("new"), lambda: db.drop_column_family("old")):
            with pytest.raises(lapse.ReadOnlyError):
                call()


def test_what_cannot_be_part_of_a_transaction_says_so(db):
    for write in (True, False):
        with db.transaction(write=write):
            for call in (lambda: db.configure(counted=True), db.checkpoint, db.purge_all_expired):
                with pytest.raises(lapse.LockedError, match="transaction"):
                    call()


def test_policies(db):
    strict = db.family("strict", require_ttl=True, max_ttl=timedelta(hours=1), counted=True, history=(3, 60))
    with pytest.raises(ValueError):
        strict["k"] = "v"
    strict["k", 7200] = "v"
    assert strict.ttl("k") == 3600.0
    assert strict.policies["max_ttl"] == 3600.0 and strict.policies["history"] == (3, 60.0)
    assert strict.name == "strict" and db.name == "default"
    db.configure("strict", require_ttl=False)
    assert strict.policies["max_ttl"] == 3600.0 and not strict.policies["require_ttl"]
    with pytest.raises(TypeError, match="no policy"):
        db.family("x", nonsense=True)
    with pytest.raises(lapse.NotFoundError):
        db.family("x", create=False)


def test_other_policies_than_it_has_are_refused(db):
    db.family("codes", default_ttl=300, history=3)
    same = db.family("codes", default_ttl=timedelta(minutes=5))
    assert same.policies == db.family("codes").policies
    with pytest.raises(lapse.InvalidArgumentError, match=r"default_ttl=300\.0, counted=False; .*"
                       r"configure\('codes', default_ttl=60, counted=True\)"):
        db.family("codes", default_ttl=60, history=3, counted=True)
    with db.transaction():
        db.family("new", counted=True)
        with pytest.raises(lapse.InvalidArgumentError, match="counted=True"):
            db.family("new", counted=False)
    db.configure("codes", default_ttl=60, counted=True)
    db.family("codes", default_ttl=60, history=3, counted=True)


def test_opening_with_other_policies_than_it_has_is_refused(tmp_path):
    path = tmp_path / "a.db"
    lapse.open(path, history=10).close()
    lapse.open(path, history=10).close()
    with pytest.raises(lapse.InvalidArgumentError, match=r"history=\(10, None\); .*configure\('default', history=20\)"):
        lapse.open(path, history=20)
    with lapse.open(path) as db:  # nothing was left open
        assert db.policies["history"] == (10, None)
        db.configure(history=20)
    lapse.open(path, history=20).close()


def test_expiring_and_forecast(db, clock):
    for i in range(3):
        db.put(f"k{i}", "v", ttl=10 * (i + 1))
    soon = db.expiring(clock.now(), clock.now() + timedelta(seconds=25))
    assert soon == [(b"k0", clock.now() + timedelta(seconds=10)), (b"k1", clock.now() + timedelta(seconds=20))]
    assert db.forecast(15, 3) == [1, 1, 1]


def test_files_survive(tmp_path, clock):
    path = tmp_path / "a.db"
    with lapse.open(path, clock=clock, durability="full") as db:
        db["k", 60] = "v"
        db.compact_to(tmp_path / "b.db")
    for name in ("a.db", "b.db"):
        with lapse.open(tmp_path / name, clock=clock, create=False) as db:
            assert db.ttl("k") == 60.0
    with pytest.raises(lapse.NotFoundError):
        lapse.open(tmp_path / "none.db", create=False)
    with pytest.raises(ValueError):
        lapse.open(tmp_path / "c.db", durability="sometimes")


def test_handles_of_one_file_share_it(tmp_path):
    path = tmp_path / "a.db"
    first = lapse.open(path, clock=lapse.ManualClock(1_000_000))
    second = lapse.KVStore(path)
    first["k", 60] = "v"
    first.close()
    del first
    assert second.ttl("k") == 60.0  # by the first one's clock, though its handle is gone
    second.close()
