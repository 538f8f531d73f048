"""What a type checker says of programs that use lapse; scripts/check-types asks it."""

from datetime import datetime, timedelta
from typing import Any, assert_type

import lapse

db = lapse.open(history=(10, timedelta(days=1)), clock=lapse.ManualClock(), default_ttl=60)
kv = lapse.KVStore("my.db", sync_level=lapse.SYNC_FULL)

for keys in (db, kv, db.family("f"), kv.create_column_family("f")):
    assert_type(keys.get("k"), bytes | None)
    assert_type(keys.get(b"k", 0), bytes | int)
    assert_type(keys["k"], bytes)
    assert_type(keys.get_many(["a", b"b"]), list[bytes | None])
    assert_type(keys.ttl("k"), float | None)
    assert_type(keys.incr("n"), int)
    assert_type(keys.incr("n", ttl=timedelta(days=1), max=5), int | None)
    assert_type(keys.put_if_absent("k", bytearray(b"v"), lapse.KEEP), bool)
    assert_type(keys.touch("k", datetime.now()), bytes | None)
    assert_type(keys.history("k")[0].value, bytes)
    assert_type(keys.entry("k"), lapse.Entry | None)
    assert_type(keys.iterator(prefix="a").item(), tuple[bytes, bytes])
    keys["k", 60] = "v"
    keys.update({"a": "1"}, ttl=60)
    keys.put(5, "v")  # type: ignore[arg-type]
    keys.put("k", "v", ttl="60")  # type: ignore[arg-type]
    keys.touch("k", None)  # type: ignore[arg-type]

assert_type(list(db), list[bytes])
assert_type(list(kv), list[tuple[bytes, bytes]])
assert_type(db.stats(), dict[str, Any])
assert_type(kv.errmsg(), str)
assert_type(db.list_column_families(), list[str])
assert_type(db.lock("l", 60).acquire(), bool)
db.lock("l", None)  # type: ignore[arg-type]
db.nothing()  # type: ignore[attr-defined]

with db.transaction() as transaction, db.snapshot(at=0) as before:
    assert_type(transaction.revision, int)
    assert_type(before["k"], bytes)


@db.memoize(ttl=60)
def square(n: int) -> int:
    return n * n


assert_type(square(7), int)
assert_type(square.forget(7), bool)
square("7")  # type: ignore[arg-type]
