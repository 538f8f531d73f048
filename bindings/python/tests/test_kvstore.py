"""The compatible face, clause by clause."""

import lapse
import pytest


def test_every_name_of_the_interface_is_there():
    names = """KVStore ColumnFamily Iterator Error NotFoundError BusyError LockedError ReadOnlyError CorruptError
        JOURNAL_DELETE JOURNAL_WAL SYNC_OFF SYNC_NORMAL SYNC_FULL CHECKPOINT_PASSIVE CHECKPOINT_FULL
        CHECKPOINT_RESTART CHECKPOINT_TRUNCATE NO_TTL""".split()
    assert [name for name in names if not hasattr(lapse, name)] == []
    both = """put get delete exists ttl purge_expired put_if_absent clear count iterator prefix_iterator
        reverse_iterator reverse_prefix_iterator close __getitem__ __setitem__ __delitem__ __contains__ __iter__
        __enter__ __exit__""".split()
    store = """begin commit rollback create_column_family open_column_family default_column_family
        list_column_families drop_column_family sync vacuum integrity_check checkpoint stats stats_reset
        errmsg""".split()
    assert [name for name in both + store if not hasattr(lapse.KVStore, name)] == []
    assert [name for name in both if not hasattr(lapse.ColumnFamily, name)] == []


def test_constants_have_their_values():
    assert (lapse.JOURNAL_DELETE, lapse.JOURNAL_WAL) == (0, 1)
    assert (lapse.SYNC_OFF, lapse.SYNC_NORMAL, lapse.SYNC_FULL) == (0, 1, 2)
    assert lapse.CHECKPOINT_PASSIVE == 0 and lapse.CHECKPOINT_TRUNCATE == 3
    assert lapse.NO_TTL == -1


def test_exceptions_are_related_as_they_should_be():
    for kind in (lapse.NotFoundError, lapse.BusyError, lapse.LockedError, lapse.ReadOnlyError, lapse.CorruptError):
        assert issubclass(kind, lapse.Error)
    assert issubclass(lapse.NotFoundError, KeyError)
    assert issubclass(lapse.InvalidArgumentError, ValueError)


def test_put_get_delete_exists(kv_keys):
    kv_keys.put("k", "v")
    assert kv_keys.get("k") == b"v" and kv_keys.exists("k")
    kv_keys.delete("k")
    assert kv_keys.get("k") is None and not kv_keys.exists("k")
    assert kv_keys.get("k", b"other") == b"other"
    with pytest.raises(lapse.NotFoundError):
        kv_keys.delete("k")


@pytest.mark.parametrize("key", [b"\x00\xff", "grüße", bytearray(b"ba"), memoryview(b"mv"), b""])
def test_keys_and_values_are_bytes_like_or_str(kv_keys, key):
    kv_keys[key] = key
    wanted = key.encode() if isinstance(key, str) else bytes(key)
    assert list(kv_keys) == [(wanted, wanted)]


@pytest.mark.parametrize("bad", [None, 7, 1.5, ["k"], object()])
def test_other_types_are_refused(kv, bad):
    with pytest.raises(TypeError, match="bytes or str expected"):
        kv.put(bad, "v")
    with pytest.raises(TypeError, match="value: bytes or str expected"):
        kv.put("k", bad)


def test_what_cannot_be_a_key_is_not_in_there(kv):
    assert 5 not in kv and None not in kv


def test_a_lone_surrogate_is_refused(kv):
    with pytest.raises(UnicodeEncodeError):
        kv["\ud800"] = "v"


def test_dict_style(kv_keys, clock):
    kv_keys["k"] = "v"
    assert kv_keys["k"] == b"v" and "k" in kv_keys
    kv_keys["k", 10] = "brief"
    assert kv_keys.ttl("k") == 10.0
    del kv_keys["k"]
    assert "k" not in kv_keys
    for missing in (lambda: kv_keys["k"], lambda: kv_keys.__delitem__("k"), lambda: kv_keys.ttl("k")):
        with pytest.raises(KeyError, match="there is no key 'k'"):
            missing()
    with pytest.raises(TypeError):
        kv_keys["a", "b", "c"] = "v"


def test_a_key_is_visible_until_its_deadline(kv_keys, clock):
    kv_keys.put("k", "v", ttl=0.5)
    clock.advance(0.499)
    assert kv_keys.get("k") == b"v" and kv_keys.ttl("k") == 0.001
    clock.advance(0.001)
    assert kv_keys.get("k") is None and "k" not in kv_keys and list(kv_keys) == []
    with pytest.raises(lapse.NotFoundError):
        kv_keys.ttl("k")


@pytest.mark.parametrize("seconds", [0.1, 0.3, 1.005, 2.003, 8.2, 1e6 + 0.001])
def test_a_float_ttl_is_exact_to_the_millisecond(kv, seconds):
    kv.put("k", "v", ttl=seconds)
    assert kv.ttl("k") == seconds


def test_a_plain_put_makes_a_key_permanent(kv_keys):
    kv_keys.put("k", "v", ttl=10)
    kv_keys.put("k", "v")
    assert kv_keys.ttl("k") is None


@pytest.mark.parametrize("ttl", [0, -1, -0.5, float("inf"), float("nan"), 10**400])
def test_a_ttl_that_is_none_is_refused(kv, ttl):
    with pytest.raises(ValueError):
        kv.put("k", "v", ttl=ttl)
    assert "k" not in kv


def test_put_if_absent(kv_keys, clock):
    assert kv_keys.put_if_absent("k", "first", ttl=10) is True
    assert kv_keys.put_if_absent("k", "second") is False
    clock.advance(10)
    assert kv_keys.put_if_absent("k", "second") is True
    assert kv_keys["k"] == b"second"


def test_purge_count_clear(kv_keys, clock):
    for i in range(10):
        kv_keys.put(f"k{i}", "v", ttl=5 if i < 4 else None)
    assert kv_keys.count() == 10
    clock.advance(5)
    assert kv_keys.purge_expired(limit=3) == 3
    assert kv_keys.purge_expired() == 1
    assert kv_keys.count() == 6
    kv_keys.clear()
    assert kv_keys.count() == 0


def test_column_families(kv):
    users = kv.create_column_family("users")
    users["k"] = "theirs"
    kv["k"] = "own"
    assert kv.open_column_family("users")["k"] == b"theirs"
    assert kv.default_column_family()["k"] == b"own"
    assert kv.list_column_families() == ["default", "users"]
    with pytest.raises(lapse.InvalidArgumentError, match="there is a family 'users' already"):
        kv.create_column_family("users")
    with pytest.raises(lapse.Error):
        kv.create_column_family("__mine")
    with pytest.raises(lapse.NotFoundError):
        kv.open_column_family("nobody")
    kv.drop_column_family("users")
    assert kv.list_column_families() == ["default"]
    with pytest.raises(lapse.NotFoundError):
        users.get("k")


def test_families_answer_as_they_do_in_c(kv):
    """See CFamily in tests/c/family_test.cc, and COpen for the sync levels."""
    for name in ("default", "made"):
        if name == "made":
            kv.create_column_family(name)
        for _ in range(2):
            with pytest.raises(lapse.InvalidArgumentError, match="already"):
                kv.create_column_family(name)
    kv.begin(write=True)
    kv.create_column_family("in a transaction")
    with pytest.raises(lapse.InvalidArgumentError, match="already"):
        kv.create_column_family("in a transaction")
    kv.rollback()
    assert kv.list_column_families() == ["default", "made"]
    assert kv.open_column_family("default").name == "default"
    with pytest.raises(lapse.InvalidArgumentError):
        kv.drop_column_family("default")


def test_sync_off_is_normal_as_in_c(monkeypatch):
    asked = []
    init = lapse._lapse.Store.__init__

    def watched_init(self, path, options):
        asked.append(options["durability"])
        init(self, path, options)

    monkeypatch.setattr(lapse._lapse.Store, "__init__", watched_init)
    for level in (lapse.SYNC_OFF, lapse.SYNC_NORMAL, lapse.SYNC_FULL):
        lapse.KVStore(sync_level=level).close()
    assert asked == ["normal", "normal", "full"]


def test_an_object_whose_init_was_never_called_says_so(kv):
    for kind, call in ((lapse.KVStore, lambda store: store.get("k")), (lapse.Store, lambda store: store.close()),
                       (lapse.KVStore, lambda store: lapse.ColumnFamily(store, "f", "open", {})),
                       (lapse.Store, len), (lapse.Family, lambda family: family.put("k", "v")),
                       (lapse.Snapshot, lambda snapshot: snapshot.get("k")),
                       (type(lapse.KEEP), lambda ttl: kv.put("k", "v", ttl)),
                       (lapse.ManualClock, lambda clock: clock.advance(1)),
                       (lapse.ManualClock, lambda clock: lapse.KVStore(clock=clock))):
        with pytest.raises(TypeError, match="__init__"):
            call(kind.__new__(kind))
    with pytest.raises(RuntimeError):
        next(lapse.Iterator.__new__(lapse.Iterator))


def test_leaving_a_with_block_closes(kv, tmp_path):
    with kv.create_column_family("users") as users:
        users["k"] = "v"
    with pytest.raises(lapse.UnavailableError):
        users["k"]
    with kv.iterator() as it:
        pass
    with pytest.raises(lapse.Error):
        next(it)
    with lapse.KVStore(tmp_path / "a.db") as store:
        store["k"] = "v"
    for call in (lambda: store["k"], lambda: store.put("k", "v"), store.stats, store.begin, store.now,
                 lambda: list(store)):
        with pytest.raises(lapse.UnavailableError, match="closed"):
            call()
    store.close()  # again: fine
    with lapse.KVStore(tmp_path / "a.db") as store:
        assert store["k"] == b"v"


def test_transactions(kv):
    users = kv.create_column_family("users")
    kv.begin(write=True)
    kv["a"] = "1"
    users["b"] = "2"
    assert kv["a"] == b"1" and users["b"] == b"2" and kv.in_transaction
    kv.rollback()
    assert "a" not in kv and "b" not in users and not kv.in_transaction
    kv.begin(write=True)
    kv["a"] = "1"
    kv.commit()
    assert kv["a"] == b"1"
    with pytest.raises(lapse.Error, match="no transaction"):
        kv.commit()
    with pytest.raises(lapse.Error, match="no transaction"):
        kv.rollback()
    kv.begin(write=True)
    with pytest.raises(lapse.LockedError):
        kv.begin(write=True)
    kv.rollback()


def test_a_read_transaction_sees_one_moment(kv):
    import threading

    users = kv.create_column_family("users")
    kv["k"] = users["k"] = "then"
    kv.begin()
    other = threading.Thread(target=lambda: (kv.put("k", "now"), users.put("k", "now")))
    other.start()
    other.join()
    assert kv["k"] == users["k"] == b"then"
    with pytest.raises(lapse.ReadOnlyError):
        kv["k"] = "v"
    kv.commit()
    assert kv["k"] == users["k"] == b"now"


def test_an_expired_key_met_in_a_transaction_does_not_commit_it(kv, clock):
    kv.put("brief", "v", ttl=1)
    clock.advance(1)
    kv.begin(write=True)
    kv["k"] = "v"
    assert kv.get("brief") is None
    assert kv.purge_expired() == 1
    kv.rollback()
    assert "k" not in kv


def test_maintenance(tmp_path):
    with lapse.KVStore(tmp_path / "a.db", sync_level=lapse.SYNC_FULL, cache_size=10, page_size=4096,
                       journal_mode=lapse.JOURNAL_DELETE, wal_size_limit=5, busy_timeout=100,
                       allow_encrypted=0, full_mutex=1) as kv:
        kv["k"] = "value"
        kv["k"], kv.get("none")
        kv.sync()
        kv.vacuum()
        kv.vacuum(n_pages=10)
        assert kv.integrity_check() is None
        assert kv.checkpoint(lapse.CHECKPOINT_TRUNCATE) == (0, 0)
        stats = kv.stats()
        assert (stats["puts"], stats["gets"], stats["deletes"], stats["errors"]) == (1, 2, 0, 0)
        assert stats["bytes_written"] == 6 and stats["bytes_read"] == 5 and stats["checkpoints"] == 1
        assert stats["wal_commits"] == stats["commits"] == 1 and stats["db_pages"] == stats["file_bytes"] / 4096 > 0
        kv.stats_reset()
        assert kv.stats()["puts"] == 0


COUNTED = {  # what a call adds to (puts, gets, deletes, iterations, bytes written, bytes read); "k" holds "value"
    "put": (lambda kv: kv.put("k", "v"), (1, 0, 0, 0, 2, 0)),
    "item": (lambda kv: kv["k"], (0, 1, 0, 0, 0, 5)),
    "get": (lambda kv: kv.get("nobody"), (0, 1, 0, 0, 0, 0)),
    "get_many": (lambda kv: kv.get_many(["k", "nobody", "k"]), (0, 3, 0, 0, 0, 10)),
    "get_at": (lambda kv: kv.get_at("k", kv.now()), (0, 1, 0, 0, 0, 5)),
    "get_revision": (lambda kv: kv.get_revision("k", 10**9), (0, 1, 0, 0, 0, 0)),
    "entry": (lambda kv: kv.entry("k"), (0, 1, 0, 0, 0, 5)),
    "touch": (lambda kv: kv.touch("k", 9), (0, 1, 0, 0, 0, 5)),
    "of a snapshot": (lambda kv: kv.snapshot()["k"], (0, 1, 0, 0, 0, 5)),
    "exists": (lambda kv: "k" in kv, (0, 0, 0, 0, 0, 0)),
    "update": (lambda kv: kv.update({"a": "1", "b": "2"}), (2, 0, 0, 0, 4, 0)),
    "put_if_absent": (lambda kv: [kv.put_if_absent("a", "1"), kv.put_if_absent("a", "1")], (1, 0, 0, 0, 2, 0)),
    "compare_and_set": (lambda kv: [kv.compare_and_set("k", "value", "new"), kv.compare_and_set("k", "value", "new")],
                        (1, 0, 0, 0, 4, 0)),
    "by revision": (lambda kv: kv.compare_and_set("k", kv.entry("k").revision, "new"), (1, 1, 0, 0, 4, 5)),
    "incr": (lambda kv: [kv.incr("n", 12), kv.incr("n", max=5)], (1, 0, 0, 0, 3, 0)),
    "swap": (lambda kv: kv.swap("k", "new"), (1, 1, 0, 0, 4, 5)),
    "append": (lambda kv: kv.append("k", "s"), (1, 0, 0, 0, 7, 0)),
    "restore": (lambda kv: [kv.restore("k", kv.now()), kv.restore("nobody", kv.now())], (1, 0, 0, 0, 0, 0)),
    "delete": (lambda kv: kv.delete("k"), (0, 0, 1, 0, 0, 0)),
    "pop": (lambda kv: [kv.pop("k"), kv.pop("k", None)], (0, 2, 1, 0, 0, 5)),
    "compare_and_delete": (lambda kv: [kv.compare_and_delete("k", "other"), kv.compare_and_delete("k", "value")],
                           (0, 0, 1, 0, 0, 0)),
    "delete_prefix": (lambda kv: kv.delete_prefix(""), (0, 0, 1, 0, 0, 0)),
    "clear": (lambda kv: kv.clear(), (0, 0, 0, 0, 0, 0)),
    "iterate": (lambda kv: [list(kv), kv.snapshot().iterator().key], (0, 0, 0, 2, 0, 0)),
}


@pytest.mark.parametrize("what", COUNTED)
def test_stats_count_by_the_rule_of_c(kv, what):
    call, counts = COUNTED[what]
    kv.configure(history=True)
    kv.put("k", "value", ttl=60)
    kv.stats_reset()
    call(kv)
    stats = kv.stats()
    assert tuple(stats[name] for name in ("puts", "gets", "deletes", "iterations", "bytes_written",
                                          "bytes_read")) == counts


def test_stats_count_what_calls_have_purged(kv, clock):
    for i in range(3):
        kv.put(f"k{i}", "v", ttl=1)
    clock.advance(1)
    kv.get("k0")  # which removes it on the way
    assert kv.purge_expired(limit=1) == 1 and kv.purge_all_expired() == 1
    assert kv.stats()["ttl_purged"] == 2 and kv.stats()["ttl_expired"] == 1


def test_stats_reset_zeroes_all_that_is_counted(kv, clock):
    kv.put("k", "v", ttl=1)
    clock.advance(1)
    kv.get("k"), kv.sync(), kv.checkpoint(), list(kv)
    with pytest.raises(lapse.Error):
        kv.commit()
    counted = ("puts", "gets", "errors", "bytes_written", "commits", "wal_commits", "checkpoints", "ttl_expired")
    stats = kv.stats()
    assert all(stats[name] > 0 for name in counted)
    kv.stats_reset()
    stats = kv.stats()
    for name in (*counted, "deletes", "iterations", "bytes_read", "syncs", "ttl_purged"):
        assert stats[name] == 0, name
    kv["k"] = "v"
    assert kv.stats()["wal_commits"] == 1


def test_maintenance_checks_its_arguments(kv):
    for mode in (-1, 4, "full"):
        with pytest.raises(lapse.InvalidArgumentError, match="mode"):
            kv.checkpoint(mode)
    with pytest.raises(lapse.InvalidArgumentError, match="n_pages"):
        kv.vacuum(-1)
    kv.close()
    for call in (kv.vacuum, kv.checkpoint):
        with pytest.raises(lapse.UnavailableError):
            call()


def test_errmsg_says_what_happened(kv):
    assert kv.errmsg() == "no error"
    with pytest.raises(lapse.Error):
        kv.drop_column_family("nobody")
    assert "nobody" in kv.errmsg() and "nobody" in kv.errmsg


FAILURES = {
    "a missing key": lambda kv: kv["nobody"],
    "its ttl": lambda kv: kv.ttl("nobody"),
    "its deletion": lambda kv: kv.delete("nobody"),
    "its pop": lambda kv: kv.pop("nobody"),
    "the first key of none": lambda kv: kv.popitem(),
    "a missing family": lambda kv: kv.open_column_family("nobody"),
    "a family's missing key": lambda kv: kv.create_column_family("f")["nobody"],
    "a ttl that is no number": lambda kv: kv.put("k", "v", ttl=float("nan")),
    "a ttl of nothing": lambda kv: kv.put("k", "v", ttl=0),
    "a number out of range": lambda kv: kv.incr("k", 2**63),
    "a key of the wrong type": lambda kv: kv.get(5),
    "a long key": lambda kv: kv.put("k" * 70_000, "v"),
    "a snapshot of the future": lambda kv: kv.snapshot(at=1e11),
    "an iterator at its end": lambda kv: kv.iterator().key,
    "an iterator the other way": lambda kv: kv.iterator().last(),
    "a closed iterator": lambda kv: [it := kv.iterator(), it.close(), next(it)],
    "a closed family": lambda kv: [family := kv.default_column_family(), family.close(), family.get("k")],
    "no transaction": lambda kv: kv.commit(),
    "no savepoint": lambda kv: kv._savepoint(),
    "a transaction too many": lambda kv: [kv.begin(), kv.begin()],
    "a write while reading": lambda kv: [kv.begin(), kv.put("k", "v")],
    "no checkpoint": lambda kv: kv.checkpoint(9),
    "no vacuum": lambda kv: kv.vacuum(-1),
    "a closed store": lambda kv: [kv.close(), kv.get("k")],
}


@pytest.mark.parametrize("what", FAILURES)
def test_errmsg_and_the_counter_know_every_failure(kv, what):
    with pytest.raises((lapse.Error, TypeError)) as caught:
        FAILURES[what](kv)
    assert kv.errmsg() == str(caught.value)
    if what != "a closed store":
        assert kv.stats()["errors"] == (0 if isinstance(caught.value, KeyError) else 1)


def test_what_is_no_failure_is_not_noted(kv):
    kv.get("nobody"), kv.pop("nobody", None), list(kv), kv.put_if_absent("k", "v"), kv.setdefault("k", "w"), 5 in kv
    assert kv.errmsg() == "no error" and kv.stats()["errors"] == 0


def test_opening_what_cannot_be_opened(tmp_path):
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"SQLite format 3\0" + bytes(4096))
    with pytest.raises(lapse.InvalidArgumentError, match="which is what SNKV writes"):
        lapse.KVStore(junk)
    assert junk.read_bytes().startswith(b"SQLite")
    with pytest.raises(lapse.InvalidArgumentError, match="NUL"):
        lapse.KVStore(str(tmp_path / "cut") + "\0short.db")
    assert not (tmp_path / "cut").exists()
    with pytest.raises(lapse.Error):
        lapse.KVStore(tmp_path / "no" / "such" / "folder.db")
    with pytest.raises(ValueError):
        lapse.KVStore(sync_level=9)
    with pytest.raises(TypeError):
        lapse.KVStore(nonsense=1)


def test_read_only(tmp_path):
    with lapse.KVStore(tmp_path / "a.db") as kv:
        kv["k"] = "v"
    with lapse.KVStore(str(tmp_path / "a.db"), read_only=1) as kv:
        assert kv["k"] == b"v"
        with pytest.raises(lapse.ReadOnlyError):
            kv["k"] = "w"


def test_damage_is_a_corrupt_error(tmp_path):
    path = tmp_path / "a.db"
    with lapse.KVStore(path) as kv:
        kv.update({f"key {i}": "some value" * 20 for i in range(1000)})
        kv.checkpoint()
    path.write_bytes(path.read_bytes().replace(b"some value", b"same value"))
    with lapse.KVStore(path) as kv, pytest.raises(lapse.CorruptError):
        kv.integrity_check()
