"""Tasks of asyncio, which share a thread but no transaction."""

import asyncio

import lapse
import pytest


def run_both(db, inside):
    """Runs `inside` in one task while another, of the same thread, has a transaction open and awaits."""
    async def main():
        begun, end = asyncio.Event(), asyncio.Event()

        async def first():
            with db.transaction():
                db["first"] = "v"
                begun.set()
                await end.wait()
                assert db["first"] == b"v" and db.in_transaction

        async def second():
            await begun.wait()
            try:
                inside()
            finally:
                end.set()

        await asyncio.gather(first(), second())

    asyncio.run(main())


@pytest.mark.parametrize("call", [
    lambda db: db.put("second", "v"), lambda db: db["first"], lambda db: list(db), lambda db: db.begin(),
    lambda db: db.begin(write=True), lambda db: db.commit(), lambda db: db.rollback(),
    lambda db: db.transaction().__enter__(), lambda db: db.family("f"), lambda db: db.list_column_families(),
    lambda db: db.drop_column_family("f"), lambda db: db.lock("l", 1).acquire()])
def test_a_task_does_not_join_the_transaction_of_another(db, call):
    def inside():
        assert not db.in_transaction
        with pytest.raises(lapse.LockedError, match="another asyncio task"):
            call(db)

    run_both(db, inside)
    assert dict(db) == {b"first": b"v"} and db.list_column_families() == ["default"]


def test_what_joins_no_transaction_is_free_to_all_tasks(db):
    db["k"] = "v"
    snapshot = db.snapshot()
    run_both(db, lambda: (snapshot["k"], list(snapshot), db.now(), db.stats()))


def test_tasks_with_a_transaction_each_take_turns(db):
    async def add():
        for _ in range(10):
            with db.transaction():
                db.incr("sum")
                with db.transaction():
                    db.incr("sum")
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(add() for _ in range(5)))

    asyncio.run(main())
    assert db["sum"] == b"100"


def test_a_transaction_around_the_loop_is_not_for_its_tasks(db):
    async def main():
        db["k"] = "v"

    with pytest.raises(lapse.LockedError), db.transaction():
        asyncio.run(main())
