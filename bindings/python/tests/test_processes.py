"""Threads, fork, other processes, the end of the interpreter."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import lapse
import pytest


def test_threads_write_in_parallel(tmp_path):
    with lapse.open(tmp_path / "a.db") as db:
        def work(own):
            for i in range(500):
                db.put(f"{own}:{i}", "v", ttl=60)
                db.incr("sum")
                assert db[f"{own}:{i}"] == b"v"

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(db) == 2001 and db["sum"] == b"2000"
        db.integrity_check()


def test_a_transaction_belongs_to_its_thread(db):
    """Others read what was before, and their writes wait rather than join."""
    seen = []
    wrote = threading.Event()

    def other():
        seen.append(db.get("k"))
        db["other"] = "v"
        wrote.set()

    with db.transaction() as transaction:
        db["k"] = "v"
        thread = threading.Thread(target=other)
        thread.start()
        assert not wrote.wait(0.05)
        transaction.rollback()
    thread.join()
    assert seen == [None] and dict(db) == {b"other": b"v"}


def test_the_gil_is_released_while_a_write_waits(db):
    """Else this would never end: the waiting writer would keep the other thread from ever going on."""
    db.begin(write=True)
    thread = threading.Thread(target=lambda: db.put("k", "v"))
    thread.start()
    sum(range(100_000))
    db.rollback()
    thread.join()
    assert db["k"] == b"v"


def test_busy_timeout_ends_the_waiting(tmp_path):
    with lapse.open(tmp_path / "a.db", busy_timeout=0.01) as db:
        db.begin(write=True)
        raised = []

        def other():
            for call in (lambda: db.put("k", "v"), lambda: db.begin(write=True)):
                try:
                    call()
                except lapse.BusyError as error:
                    raised.append(error)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert len(raised) == 2
        db.rollback()


def test_a_kvstore_does_not_wait_for_transactions_unless_told_to():
    with lapse.KVStore() as kv, lapse.KVStore(busy_timeout=10_000) as patient:
        for store in (kv, patient):
            begun, end = threading.Event(), threading.Event()

            def other():
                store.begin(write=True)
                begun.set()
                end.wait(0.3 if store is patient else None)
                store.rollback()

            thread = threading.Thread(target=other)
            thread.start()
            begun.wait()
            if store is kv:
                with pytest.raises(lapse.BusyError, match="waited 50 ms"):
                    kv["k"] = "v"
            else:
                patient["k"] = "v"
            end.set()
            thread.join()
    with pytest.raises(lapse.InvalidArgumentError, match="busy_timeout"):
        lapse.KVStore(busy_timeout=-1)


class Interrupt(Exception):
    pass


@pytest.fixture
def alarm():
    """Sets a timer whose handler does something in the middle of what the main thread does."""
    def arm(handler):
        signal.signal(signal.SIGALRM, lambda *_: handler())
        signal.setitimer(signal.ITIMER_REAL, 0.05)

    before = signal.getsignal(signal.SIGALRM)
    yield arm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def held(db):
    """A store that another thread has a transaction open on."""
    begun, end = threading.Event(), threading.Event()

    def other():
        try:
            with db.transaction():
                begun.set()
                end.wait()
        except lapse.UnavailableError:  # closed meanwhile
            pass

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    yield db
    end.set()
    thread.join()


def test_waiting_for_the_writer_can_be_interrupted(held, alarm):
    def interrupt():
        raise Interrupt

    for call in (lambda: held.put("k", "v"), lambda: held.begin(write=True), lambda: held.family("new"),
                 lambda: held.configure(counted=True), held.checkpoint, held.purge_expired):
        alarm(interrupt)
        with pytest.raises(Interrupt):
            call()
    assert "k" not in held and not held.in_transaction


def test_a_signal_that_raises_nothing_does_not_end_the_waiting(db, alarm):
    begun, handled = threading.Event(), threading.Event()

    def other():
        with db.transaction():
            begun.set()
            handled.wait()  # so it would never end if the waiting kept the handler from running

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    alarm(handled.set)
    db["k"] = "v"
    thread.join()
    assert db["k"] == b"v"


def test_close_ends_the_waiting(held, alarm):
    waiting = threading.Thread(target=lambda: results.append(in_thread(lambda: held.put("k", "v"))))
    results = []
    waiting.start()
    waiting.join(0.05)
    held.close()
    waiting.join()
    assert isinstance(results[0], lapse.UnavailableError)


def test_a_handler_of_signals_may_close(held, alarm):
    alarm(held.close)
    with pytest.raises(lapse.UnavailableError, match="closed"):
        held["k"] = "v"


def test_a_transaction_ends_with_its_thread(tmp_path):
    with lapse.open(tmp_path / "a.db", busy_timeout=20) as db:
        iterators = []

        def leave_open():
            db.begin(write=True)
            db["lost"] = "v"
            iterators.append(db.iterator())

        in_thread(leave_open)
        db["k"] = "v"
        assert dict(db) == {b"k": b"v"}
        with pytest.raises(lapse.Error, match="ended"):
            next(iterators[0])
        assert in_thread(lambda: db.begin()) is None
        assert db.stats()["oldest_snapshot_ms"] == 0


def test_a_rollback_does_not_wait_for_iterators_that_other_threads_drop(tmp_path):
    """An iterator holds what it goes over until it has gone: while it goes in another thread, rollback() returns."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    with lapse.open(tmp_path / "a.db") as db:
        db.update({f"{i:04}": "v" for i in range(500)})
        dropped, done = [], threading.Event()

        def drop():
            while not done.is_set():
                try:
                    dropped.pop()
                except IndexError:
                    pass

        threads = [threading.Thread(target=drop) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(1500):
                db.begin(write=True)  # BusyError, if this thread's own one is still open
                db["k"] = "v"
                for _ in range(10):
                    dropped.append([db.iterator()])
                db.rollback()
        finally:
            done.set()
            for thread in threads:
                thread.join()
            sys.setswitchinterval(before)
        assert "k" not in db


def test_what_get_many_was_given_may_change_meanwhile():
    with lapse.open() as db:
        def keys_of(kind):  # new ones each time, so that they take the place of those that have gone
            return [f"{kind} {i:020}".encode() for i in range(5_000)]

        for kind in ("one", "two"):
            db.update({key: kind for key in keys_of(kind)})
        shared, done = keys_of("one"), threading.Event()

        def change():
            while not done.is_set():
                shared[:] = keys_of("two")

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(100):
                assert len(set(db.get_many(shared))) == 1
                shared[:] = keys_of("one")
        finally:
            done.set()
            thread.join()


def child_reports(work):
    """Forks, runs `work` in the child, and gives what it returned, or what it raised, by name."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = repr(work())
        except BaseException as error:
            answer = type(error).__name__ + ": " + str(error)
        os.write(theirs, answer.encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as pipe:
        answer = pipe.read()
    assert os.waitpid(pid, 0)[1] == 0
    return answer


@pytest.mark.parametrize("where", ["file", "memory"])
def test_after_fork_every_handle_says_so(tmp_path, where):
    db = lapse.open(tmp_path / "a.db" if where == "file" else None, history=True)
    db["k"] = "v"
    family, snapshot, iterator = db.family("f"), db.snapshot(), db.iterator()
    calls = [lambda: db["k"], lambda: db.put("k", "w"), lambda: list(db), lambda: family.put("k", "w"),
             lambda: snapshot["k"], lambda: next(iterator), lambda: db.begin(True), lambda: db.history("k"),
             lambda: db.family("g"), lambda: db.snapshot(), lambda: db.stats(), lambda: db.close(),
             lambda: db.lock("l", 1).acquire(0), lambda: db.sync(), lambda: iterator.close(),
             lambda: db.in_transaction, lambda: db.now()]
    for call in calls:
        assert child_reports(call).startswith("UnavailableError: inherited over fork")
    assert next(iterator) == (b"k", b"v") and snapshot["k"] == b"v"
    db["k"] = "later"
    db.integrity_check()
    db.close()


def test_a_child_in_a_transaction_of_its_parent_harms_nothing(tmp_path):
    with lapse.open(tmp_path / "a.db") as db:
        with db.transaction():
            db["k"] = "v"
            assert child_reports(lambda: db.commit()).startswith("UnavailableError")
            assert child_reports(lambda: db.put("k", "child")).startswith("UnavailableError")
        assert db["k"] == b"v"
        db.integrity_check()


def test_a_child_in_a_read_transaction_of_its_parent_is_told_of_the_fork_first(tmp_path):
    with lapse.open(tmp_path / "a.db") as db:
        db.create_column_family("f")
        db.begin()
        for call in (lambda: db.create_column_family("g"), lambda: db.drop_column_family("f")):
            assert child_reports(call).startswith("UnavailableError: inherited over fork")
        db.rollback()


@pytest.mark.parametrize("kind", [lapse.open, lapse.KVStore])
def test_a_child_leaves_the_blocks_of_its_parent_in_silence(tmp_path, kind):
    def leave(block, *raised):
        return lambda: block.__exit__(*raised) or "left"

    with kind(tmp_path / "a.db") as db:
        family, promising = db.create_column_family("f"), [db.transaction(), db.lock("l", 60)]
        for block in (db, family, db.snapshot(), db.iterator(), *promising):
            raised = OSError("the news")
            if block in promising:
                block.__enter__()
            assert child_reports(leave(block, OSError, raised, None)) == "'left'"
            if block in promising:  # which to leave in peace would be a lie
                assert child_reports(leave(block, None, None, None)).startswith("UnavailableError")
                block.__exit__(None, None, None)
            else:
                assert child_reports(leave(block, None, None, None)) == "'left'"
        assert db.count() == 0


def test_a_child_may_drop_its_handles_and_open_anew(tmp_path):
    path = tmp_path / "a.db"
    db = lapse.open(path)
    db["k"] = "v"
    it = db.iterator()

    def drop():
        nonlocal db, it
        del db, it
        return "dropped"

    assert child_reports(drop) == "'dropped'"
    assert db["k"] == b"v"
    it.close()
    db.close()
    assert child_reports(lambda: lapse.open(path)["k"]) == "b'v'"


def ask(db_name, answers):
    try:
        answers.put(globals()[db_name]["k"])
    except lapse.Error as error:
        answers.put(type(error).__name__)


def test_multiprocessing(tmp_path):
    global shared
    with lapse.open(tmp_path / "a.db") as shared:
        shared["k"] = "v"
        fork = multiprocessing.get_context("fork")
        answers = fork.Queue()
        process = fork.Process(target=ask, args=("shared", answers))
        process.start()
        assert answers.get(timeout=30) == "UnavailableError"
        process.join()
        assert process.exitcode == 0 and shared["k"] == b"v"


def run_python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60)


def opens_elsewhere(path):
    done = run_python("import lapse, sys; lapse.open(sys.argv[1], create=False).close()", path)
    return done.returncode == 0


def in_thread(work):
    """Runs `work` in a thread of its own until it has ended, and gives what it returned or raised."""
    results = []

    def run():
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


def test_the_first_transactions_of_a_process_may_begin_together():
    """What they need is imported with the package: threads that import it in the middle of a call wait for each other."""
    code = """if True:
        import faulthandler, lapse, sys, threading
        assert "lapse._tasks" in sys.modules
        faulthandler.dump_traceback_later(30, exit=True)
        stores = [lapse.open() for _ in range(8)]
        together = threading.Barrier(8)

        def begin(db):
            together.wait()
            with db.transaction():
                db["k"] = "v"

        threads = [threading.Thread(target=begin, args=(db,)) for db in stores]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(sum(len(db) for db in stores))
    """
    done = run_python(code)
    assert (done.returncode, done.stdout.strip()) == (0, "8"), done.stderr


def test_close_lets_go_of_the_file_whatever_is_still_open(tmp_path):
    path = tmp_path / "a.db"
    db = lapse.open(path, history=True)
    db.update({"a": "1", "b": "2"})
    it, snapshot = db.iterator(), db.snapshot()
    elsewhere, of_snapshot = snapshot.family("default"), snapshot.iterator()
    next(it), next(of_snapshot)
    begun, go_on = threading.Event(), threading.Event()
    answers = []

    def other():
        db.begin(write=True)
        db["lost"] = "v"
        own = db.iterator()
        begun.set()
        go_on.wait()
        for call in (lambda: next(own), lambda: db.put("k", "v"), db.commit, db.rollback, lambda: db.in_transaction):
            with pytest.raises(lapse.UnavailableError, match="closed"):
                call()
            answers.append(1)

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    db.close()
    assert opens_elsewhere(path)
    go_on.set()
    thread.join()
    assert len(answers) == 5
    for call in (lambda: next(it), lambda: it.seek("a"), lambda: it.key, lambda: snapshot["a"], snapshot.now,
                 lambda: elsewhere["a"], lambda: next(of_snapshot), lambda: list(snapshot)):
        with pytest.raises(lapse.UnavailableError, match="the store has been closed"):
            call()
    it.close(), snapshot.close()  # as closing twice: fine
    with lapse.open(path) as again:
        assert dict(again) == {b"a": b"1", b"b": b"2"}


def test_close_waits_for_calls_that_are_under_way(tmp_path):
    """And none of them meets a store that is half closed."""
    for _ in range(20):
        db = lapse.open(tmp_path / "a.db")
        db.update({f"{i:04}": "v" for i in range(300)})
        started = threading.Barrier(5)

        def work():
            started.wait()
            while True:
                db.count(), db.put("k", "v"), list(db), db.snapshot()["0000"]
                with db.transaction():
                    db.incr("sum")

        threads = [threading.Thread(target=lambda: results.append(in_thread(work))) for _ in range(4)]
        results = []
        for thread in threads:
            thread.start()
        started.wait()
        db.close()
        for thread in threads:
            thread.join()
        assert [type(error) for error in results] == [lapse.UnavailableError] * 4
        assert all("closed" in str(error) for error in results)


def test_a_second_process_is_told_who_has_it(tmp_path):
    with lapse.open(tmp_path / "a.db"):
        other = run_python("import lapse, sys; lapse.open(sys.argv[1])", tmp_path / "a.db")
    assert other.returncode == 1 and "BusyError" in other.stderr and str(os.getpid()) in other.stderr


def test_the_end_of_the_interpreter_closes(tmp_path):
    code = """if True:
        import lapse, sys
        db = lapse.open(sys.argv[1])
        db["k"] = "v"
        it, snapshot, family = db.iterator(), db.snapshot(), db.family("f")
        db.begin(write=True)
        db["lost"] = "v"
    """
    done = run_python(code, tmp_path / "a.db")
    assert (done.returncode, done.stderr) == (0, "")
    with lapse.open(tmp_path / "a.db") as db:
        assert dict(db) == {b"k": b"v"} and db.list_column_families() == ["default", "f"]
