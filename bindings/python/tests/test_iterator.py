"""Iterators of both faces."""

import threading

import lapse
import pytest


@pytest.fixture
def filled(kv):
    kv.update({key: key.upper() for key in ("a", "b:1", "b:2", "c")})
    return kv


def keys(iterator):
    return [key for key, _ in iterator]


def test_orders_and_prefixes(filled):
    assert keys(filled) == [b"a", b"b:1", b"b:2", b"c"]
    assert keys(filled.reverse_iterator()) == [b"c", b"b:2", b"b:1", b"a"]
    assert keys(filled.prefix_iterator("b")) == [b"b:1", b"b:2"]
    assert keys(filled.reverse_prefix_iterator("b")) == [b"b:2", b"b:1"]
    assert keys(filled.iterator(reverse=True, prefix=b"b")) == [b"b:2", b"b:1"]
    assert keys(filled.iterator(start="b:2", stop="c")) == [b"b:2"]


def test_by_hand_forward(filled):
    it = filled.iterator()
    seen = []
    it.first()
    while not it.eof:
        seen.append((it.key, it.value))
        assert it.item() == seen[-1]
        it.next()
    assert seen == list(filled)
    with pytest.raises(lapse.Error, match="end"):
        it.key
    with pytest.raises(lapse.Error, match="end"):
        it.next()
    with pytest.raises(lapse.Error, match="reverse"):
        it.last()


def test_by_hand_backward(filled):
    it = filled.reverse_iterator().last()
    seen = []
    while not it.eof:
        seen.append(it.key)
        it.prev()
    assert seen == [b"c", b"b:2", b"b:1", b"a"]
    with pytest.raises(lapse.Error, match="forward"):
        it.first()


def test_a_prefix_iterator_is_positioned_when_created(filled):
    assert filled.prefix_iterator("b").key == b"b:1"
    assert filled.reverse_prefix_iterator("b").key == b"b:2"
    assert filled.prefix_iterator("x").eof


def test_seek(filled):
    assert filled.iterator().seek("b").key == b"b:1"
    assert filled.reverse_iterator().seek("bb").key == b"b:2"
    assert filled.iterator().seek("d").eof


def test_a_loop_and_moves_by_hand_mix():
    kv = lapse.KVStore()
    kv.update({f"{i:04}": "v" for i in range(1000)})
    it = kv.iterator()
    assert [next(it)[0] for _ in range(5)] == [b"0000", b"0001", b"0002", b"0003", b"0004"]
    assert it.key == b"0005"
    it.next()
    assert it.key == b"0006"
    it.prev()
    it.prev()
    assert it.key == b"0004"
    assert len(list(it)) == 996
    assert it.eof
    it.first()
    assert len(list(it)) == 1000


def test_it_sees_the_moment_of_its_creation(filled, clock):
    filled.put("brief", "v", ttl=1)
    it = filled.iterator()
    filled["z"] = "later"
    clock.advance(2)
    assert keys(it) == [b"a", b"b:1", b"b:2", b"brief", b"c"]
    assert keys(filled) == [b"a", b"b:1", b"b:2", b"c", b"z"]


def test_over_a_transaction_it_sees_what_is_written_meanwhile(filled):
    filled.begin(write=True)
    seen = []
    for key, _ in filled:
        seen.append(key)
        if key == b"b:1":
            filled["b:1x"] = "new"
            del filled["b:2"]
    assert seen == [b"a", b"b:1", b"b:1x", b"c"]
    filled.rollback()


def test_removing_all_keys_in_a_loop(filled):
    for in_transaction in (True, False):
        if in_transaction:
            filled.begin(write=True)
        for key, _ in filled:
            del filled[key]
        assert filled.count() == 0
        if in_transaction:
            filled.rollback()
            assert filled.count() == 4


def test_by_hand_over_a_transaction_no_key_is_passed_over(filled):
    orders = [(filled.iterator, lapse.Iterator.next), (filled.reverse_iterator, lapse.Iterator.prev)]
    for iterator, step in orders:
        filled.begin(write=True)
        it = iterator()
        seen = []
        while not it.eof:
            seen.append(it.key)
            del filled[it.key]
            step(it)
        assert filled.count() == 0
        filled.rollback()
        assert seen == keys(iterator())


def test_it_ends_with_its_transaction(filled):
    for write in (True, False):
        filled.begin(write=write)
        it = filled.iterator()
        assert next(it) == (b"a", b"A")
        filled.rollback()
        with pytest.raises(lapse.Error, match="ended"):
            next(it)


def test_a_transactions_iterator_is_for_its_thread(filled):
    filled.begin(write=True)
    it = filled.iterator()
    raised = []

    def use():
        try:
            next(it)
        except lapse.Error as error:
            raised.append(error)

    other = threading.Thread(target=use)
    other.start()
    other.join()
    assert len(raised) == 1
    filled.rollback()


def test_threads_may_share_one():
    kv = lapse.KVStore()
    kv.update({f"{i:05}": "v" for i in range(20_000)})
    it = kv.iterator()
    seen = [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda into=into: into.extend(keys(it))) for into in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(seen, [])) == keys(kv)


def test_it_may_outlive_its_handle_and_family():
    it = lapse.KVStore().create_column_family("f").iterator()
    assert list(it) == []
    store = lapse.KVStore()
    store["k"] = "v"
    it = store.iterator()
    del store
    assert list(it) == [(b"k", b"v")]
