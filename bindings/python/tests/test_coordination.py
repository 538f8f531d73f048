"""memoize, lock, throttle."""

import collections
import enum
import functools
import json
import threading
from datetime import timedelta

import lapse
import pytest


def together(count, work):
    """Runs `work` in many threads that start at once, and gives what they returned or raised."""
    barrier = threading.Barrier(count)
    results = []

    def run():
        barrier.wait()
        try:
            results.append(work())
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_memoize_keeps_for_its_ttl(db, clock):
    calls = []

    @db.memoize(ttl=60, name="greet")
    def greet(name, *, loud=False):
        """Says hello."""
        calls.append(name)
        return {"to": name, "loud": loud}

    assert greet("ada") == greet("ada") == {"to": "ada", "loud": False}
    assert greet("ada", loud=True)["loud"]
    assert calls == ["ada", "ada"] and greet.__doc__ == "Says hello."
    clock.advance(60)
    greet("ada")
    assert len(calls) == 3
    assert greet.forget("ada") and not greet.forget("ada")
    greet("ada")
    assert len(calls) == 4


def test_memoize_runs_once_when_many_threads_miss_together(db):
    calls = []
    release = threading.Event()

    @db.memoize(ttl=60, name="slow")
    def slow(n):
        calls.append(n)
        release.wait()
        return n + 1

    threading.Timer(0.05, release.set).start()
    assert together(16, lambda: slow(1)) == [2] * 16
    assert calls == [1]


def test_threads_that_missed_together_fail_together(db):
    calls = []
    inside = threading.Event()

    @db.memoize(name="fails")
    def fails():
        calls.append(1)
        inside.wait(0.05)
        raise OSError("no")

    results = together(8, fails)
    assert all(isinstance(error, OSError) for error in results) and len(results) == 8
    before = len(calls)
    with pytest.raises(OSError):
        fails()
    assert len(calls) == before + 1  # nothing was kept


def test_an_interrupted_run_is_taken_over(db):
    started, interrupted = threading.Event(), threading.Event()
    calls = []

    @db.memoize(name="work")
    def work():
        calls.append(1)
        if len(calls) == 1:
            started.set()
            interrupted.wait()
            raise SystemExit  # as sys.exit() in that thread would
        return "done"

    first = threading.Thread(target=work)
    first.start()
    started.wait()
    threading.Timer(0.05, interrupted.set).start()
    assert work() == "done" and len(calls) == 2
    first.join()


def test_memoize_gives_the_same_at_a_miss_and_a_hit(db):
    @db.memoize(name="pair")
    def pair():
        return (1, 2)

    assert pair() == [1, 2] == pair()


def test_memoize_tells_arguments_apart(db):
    @db.memoize(name="show")
    def show(*args, **kwargs):
        return repr((args, sorted(kwargs.items())))

    cases = [((1,), {}), (("1",), {}), ((True,), {}), ((1.5,), {}), ((None,), {}), (([1],), {}), ((), {"a": 1}),
             (({"a": 1},), {}), ((1, 2), {}), (([1, 2],), {}), (((1, 2),), {}), (([(1, 2)],), {}), (((1,), (2,)), {}),
             ((1.0,), {}), ((), {}), (((),), {}), (([],), {}), (("(1,2)",), {}), (({"a": (1,)},), {}), (({"a": [1]},), {})]
    assert len({show.key(*args, **kwargs) for args, kwargs in cases}) == len(cases)
    assert [show(*args, **kwargs) for args, kwargs in cases] == [
        repr((args, sorted(kwargs.items()))) for args, kwargs in cases]
    assert show(a=1, b=2) == show(b=2, a=1)


class One(enum.IntEnum):
    ONE = 1


class Text(str):
    pass


@pytest.mark.parametrize("argument", [object(), {1: 2}, {Text("a"): 1}, One.ONE, Text("a"), b"a", {1}, [One.ONE],
                                      collections.OrderedDict(a=1), collections.namedtuple("Pair", "a b")(1, 2)])
def test_memoize_refuses_what_it_would_take_for_something_else(db, argument):
    show = db.memoize(name="show")(repr)
    with pytest.raises(TypeError, match="key="):
        show(argument)
    by_repr = db.memoize(name="by repr", key=repr)(repr)
    assert by_repr(argument) == repr(argument)


def test_memoize_with_codecs_of_its_own(db):
    @db.memoize(name="raw", key=lambda blob: blob, dumps=bytes.upper, loads=lambda stored: stored.lower())
    def identity(blob):
        return blob

    assert identity(b"abc") == b"abc" and db["raw:abc"] == b"ABC"


def test_what_dumps_and_key_return_is_str_or_bytes(db):
    seen = []

    @db.memoize(name="text", key=str, dumps=str, loads=lambda stored: seen.append(stored) or int(stored))
    def double(n):
        return 2 * n

    assert double(2) == double(2) == 4 and seen == [b"4", b"4"] and db["text:2"] == b"4"
    for wrong in (5, None, bytearray(b"k"), ["k"]):
        with pytest.raises(TypeError, match="key must return str or bytes"):
            db.memoize(name="n", key=lambda: wrong)(lambda: 1)()
        with pytest.raises(TypeError, match="dumps must return str or bytes"):
            db.memoize(name="n", dumps=lambda result: wrong)(lambda: 1)()
    assert list(db) == [b"text:2"]


def module_level():
    return 1


def test_memoize_refuses_at_once_what_it_cannot_decorate(db):
    assert db.memoize()(module_level).key() == f"{__name__}.module_level:[[],{{}}]".encode()
    with pytest.raises(ValueError, match="name="):
        db.memoize()(lambda: 1)

    def within():
        pass

    with pytest.raises(ValueError, match="name="):
        db.memoize()(within)
    with pytest.raises(ValueError, match="name="):
        db.memoize()(functools.partial(module_level))
    with pytest.raises(TypeError, match="parentheses"):
        db.memoize(within)

    async def later():
        pass

    async def one_by_one():
        yield

    for function in (later, one_by_one):
        with pytest.raises(TypeError, match="plain functions"):
            db.memoize(name="n")(function)
    with pytest.raises(TypeError, match="function"):
        db.memoize(name="n")(7)


def test_memoize_lets_a_function_call_itself(db):
    depth = []

    @db.memoize(name="again")
    def again():
        depth.append(1)
        return again() + 1 if len(depth) < 3 else 0

    assert again() == 2

    @db.memoize(name="fib")
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert fib(30) == 832040


@pytest.mark.parametrize("other_store", [False, True])
def test_memoize_within_a_transaction_waits_for_nobody(db, other_store):
    """Else each would wait for the other: one for the result, one for the transaction's end."""
    results = lapse.open() if other_store else db
    computing, go_on = threading.Event(), threading.Event()
    calls = []

    @results.memoize(name="slow")
    def slow():
        calls.append(1)
        if len(calls) == 1:
            computing.set()
            go_on.wait()
            db["written"] = "v"
        return "done"

    thread = threading.Thread(target=slow)
    thread.start()
    computing.wait()
    with db.transaction():
        go_on.set()
        assert slow() == "done"
    thread.join()
    assert len(calls) == 2 and slow() == "done" and len(calls) == 2


def test_memoized_functions_that_call_each_other_in_two_threads_come_to_an_end(db):
    both_inside = threading.Barrier(2)
    called = threading.local()

    def cross(other):
        if getattr(called, "already", False):
            return "end"
        called.already = True
        both_inside.wait()
        return other()

    @db.memoize(name="ping")
    def ping():
        return cross(pong)

    @db.memoize(name="pong")
    def pong():
        return cross(ping)

    threads = [threading.Thread(target=function, daemon=True) for function in (ping, pong)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads) and ping() == pong() == "end"


def test_memoize_never_pickles(db):
    @db.memoize(name="unfit")
    def unfit():
        return object()

    with pytest.raises(TypeError):
        unfit()
    assert len(db) == 0
    db.memoize(name="n")(lambda: {"a": [1]})()
    assert json.loads(db["n:[[],{}]"]) == {"a": [1]}


def test_a_lock_has_one_holder(db, clock):
    first, second = db.lock("job", ttl=10), db.lock("job", ttl=10)
    assert first.acquire(wait=0) and not second.acquire(wait=0)
    assert first.held() and not second.held() and not second.release()
    assert first.release() and not first.held() and not first.release()
    assert second.acquire(wait=0)
    clock.advance(10)
    assert not second.held() and not second.renew()
    assert first.acquire(wait=0) and first.fence > second.fence
    assert not second.release() and first.held()
    clock.advance(6)
    assert first.renew()
    clock.advance(6)
    assert first.held()


def test_a_lock_as_a_block(db):
    with db.lock("job", ttl=10):
        with pytest.raises(lapse.LockedError):
            with db.lock("job", ttl=10, wait=0.01):
                pass
    with db.lock("job", ttl=10, wait=0):
        pass
    with db.transaction(), pytest.raises(ValueError):
        db.lock("job", ttl=10).acquire()


def test_a_block_that_raises_in_a_transaction_gives_its_lock_back(db):
    with pytest.raises(OSError, match="real"):
        with db.lock("job", ttl=10):
            db.begin(write=True)
            db["half"] = "done"
            raise OSError("real")
    assert not db.in_transaction and "half" not in db
    assert db.lock("job", ttl=10).acquire(wait=0)


def test_a_lock_that_cannot_be_released_does_not_hide_what_was_raised(db):
    with pytest.raises(OSError, match="real") as caught:
        with db.lock("job", ttl=10):
            db.close()
            raise OSError("real")
    assert caught.value.__notes__ == ["the lock 'job' was not released: the store has been closed"]


def test_a_lock_has_an_end_and_it_is_yet_to_come(db, clock):
    for ttl in (None, lapse.FOREVER, lapse.KEEP, clock.now(), clock.now() + timedelta(seconds=10), "10"):
        with pytest.raises(TypeError, match="ttl: seconds or timedelta expected"):
            db.lock("job", ttl)
    lock = db.lock("job", ttl=timedelta(seconds=10))
    assert lock.acquire()
    for ttl in (0, -1, float("nan"), float("inf"), timedelta(0)):
        with pytest.raises(lapse.InvalidArgumentError, match="ttl is"):
            db.lock("job", ttl)
        with pytest.raises(lapse.InvalidArgumentError, match="ttl is"):
            lock.renew(ttl)
        with pytest.raises(lapse.InvalidArgumentError, match="per is"):
            db.throttle("api", 1, per=ttl)
    with pytest.raises(TypeError, match="ttl"):
        lock.renew(lapse.FOREVER)
    clock.advance(10)
    assert not lock.held()


def test_a_lock_keeps_threads_apart(db):
    inside = []
    overlaps = []

    def work():
        with db.lock("job", ttl=60):
            inside.append(1)
            overlaps.append(len(inside) > 1)
            inside.pop()

    assert together(8, work) == [None] * 8 and overlaps == [False] * 8


def test_threads_that_share_a_lock_object_hold_it_one_at_a_time(db):
    lock = db.lock("job", ttl=60)
    assert lock.acquire() and lock.held() and lock.fence > 0
    assert together(2, lambda: (lock.held(), lock.release(), lock.renew(), lock.fence, lock.acquire(wait=0))) == [
        (False, False, False, 0, False)] * 2
    assert lock.held() and lock.release()
    inside = []
    fences = []

    def work():
        with lock:
            inside.append(1)
            assert len(inside) == 1
            fences.append(lock.fence)
            inside.pop()

    assert together(8, work) == [None] * 8
    assert fences == sorted(set(fences))


def test_who_holds_a_lock_does_not_wait_for_itself(db, clock):
    lock = db.lock("job", ttl=10)
    with lock:
        with pytest.raises(lapse.LockedError, match="already"):
            lock.acquire()
        with pytest.raises(lapse.LockedError, match="already"), lock:
            pass
        assert lock.held()
        clock.advance(10)
        assert lock.acquire(wait=0)  # its time was over


def test_throttle(db, clock):
    throttle = db.throttle("api", rate=5, per=60)
    assert together(20, throttle.allow).count(True) == 5
    assert throttle.remaining() == 0
    clock.advance(20)
    assert throttle.retry_after() == 40.0
    with pytest.raises(lapse.ThrottledError) as caught:
        with throttle:
            pass
    assert caught.value.retry_after == 40.0 and isinstance(caught.value, lapse.BusyError)
    clock.advance(40)
    assert throttle.retry_after() == 0.0 and throttle.allow(5) and not throttle.allow()
    assert db.throttle("other", rate=1, per=60).allow()
    with pytest.raises(ValueError):
        db.throttle("none", rate=0, per=60)
    for calls in (0, -5):
        with pytest.raises(lapse.InvalidArgumentError, match="calls"):
            throttle.allow(calls)
    assert throttle.remaining() == 0


def test_a_throttle_with_a_lower_rate_has_nothing_left(db):
    assert db.throttle("api", rate=10, per=60).allow(8)
    lower = db.throttle("api", rate=5, per=60)
    assert lower.remaining() == 0 and not lower.allow() and lower.retry_after() == 60.0


def test_a_throttle_survives_the_transaction_that_it_was_made_in(db):
    with db.transaction() as transaction:
        throttle = db.throttle("api", rate=1, per=60)
        assert throttle.allow() and not throttle.allow()
        transaction.rollback()
    assert throttle.allow() and not throttle.allow()


def test_both_are_there_in_the_compatible_face(kv):
    assert kv.lock("job", ttl=1).acquire(wait=0) and kv.throttle("api", 1, 1).allow()
    assert kv.memoize(name="n")(lambda: 1)() == 1
    assert list(kv) == [(b"n:[[],{}]", b"1")]
