#!/usr/bin/python3
"""Measures the Python module beside diskcache, lmdb and sqlite3: set with TTL, get, bulk load, purge.

    bench.py [--keys 20000] [--value-bytes 100] [--rounds 3] [--folder DIR]      (scripts/bench-python builds first)

All rivals take turns within each round, in one process, on fresh files in one folder; the table has each one's median.
All are set to what Lapse calls durability "normal": a commit survives kill -9, but not always a power cut. lmdb has no
lifetimes: it is given a second table of deadlines, written in the same transaction, as a careful user would.

There is a table of the time that passed, and one of the processor's time, which a busy machine disturbs less, but which
leaves out the disk.
"""

import argparse
import os
import pathlib
import platform
import random
import shutil
import sqlite3
import statistics
import struct
import tempfile
import time

import diskcache
import lapse
import lmdb

TTL = 3600


class Lapse:
    def __init__(self, folder):
        self.clock = lapse.ManualClock(time.time())
        self.db = lapse.open(folder / "lapse.db", clock=self.clock)

    def set(self, key, value):
        self.db.put(key, value, TTL)

    def get(self, key):
        return self.db.get(key)

    def load(self, pairs):
        self.db.update(pairs, ttl=TTL)

    def purge(self):
        self.clock.advance(TTL)
        return self.db.purge_expired()

    def close(self):
        self.db.close()


class DiskCache:
    def __init__(self, folder):
        self.cache = diskcache.Cache(folder, eviction_policy="none", cull_limit=0)

    def set(self, key, value):
        self.cache.set(key, value, expire=TTL)

    def get(self, key):
        return self.cache.get(key)

    def load(self, pairs):
        with self.cache.transact():
            for key, value in pairs:
                self.cache.set(key, value, expire=TTL)

    def purge(self):
        return self.cache.expire(now=time.time() + 2 * TTL)

    def close(self):
        self.cache.close()


class Lmdb:
    def __init__(self, folder):
        self.env = lmdb.open(str(folder), map_size=4 << 30, max_dbs=2, sync=False)
        self.rows = self.env.open_db(b"rows")
        self.deadlines = self.env.open_db(b"deadlines")

    def _put(self, txn, key, value):
        deadline = struct.pack(">Q", int((time.time() + TTL) * 1000))
        before = txn.get(key, db=self.rows)
        if before is not None:
            txn.delete(before[:8] + key, db=self.deadlines)
        txn.put(key, deadline + value, db=self.rows)
        txn.put(deadline + key, b"", db=self.deadlines)

    def set(self, key, value):
        with self.env.begin(write=True) as txn:
            self._put(txn, key, value)

    def get(self, key):
        with self.env.begin(db=self.rows) as txn:
            row = txn.get(key)
        if row is None or int.from_bytes(row[:8], "big") <= time.time() * 1000:
            return None
        return row[8:]

    def load(self, pairs):
        with self.env.begin(write=True) as txn:
            for key, value in pairs:
                self._put(txn, key, value)

    def purge(self):
        now = struct.pack(">Q", int((time.time() + 2 * TTL) * 1000))
        removed = 0
        with self.env.begin(write=True) as txn:
            cursor = txn.cursor(db=self.deadlines)
            while cursor.first() and cursor.key()[:8] <= now:
                txn.delete(cursor.key()[8:], db=self.rows)
                cursor.delete()
                removed += 1
        return removed

    def close(self):
        self.env.close()


class Sqlite:
    PUT = "INSERT OR REPLACE INTO entries VALUES (?, ?, ?)"

    def __init__(self, folder):
        self.db = sqlite3.connect(folder / "sqlite.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.db.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB, deadline REAL) WITHOUT ROWID")
        self.db.execute("CREATE INDEX by_deadline ON entries (deadline)")

    def set(self, key, value):
        self.db.execute(self.PUT, (key, value, time.time() + TTL))

    def get(self, key):
        row = self.db.execute("SELECT value FROM entries WHERE key = ? AND deadline > ?",
                              (key, time.time())).fetchone()
        return row and row[0]

    def load(self, pairs):
        deadline = time.time() + TTL
        self.db.execute("BEGIN")
        self.db.executemany(self.PUT, ((key, value, deadline) for key, value in pairs))
        self.db.execute("COMMIT")

    def purge(self):
        return self.db.execute("DELETE FROM entries WHERE deadline <= ?", (time.time() + 2 * TTL,)).rowcount

    def close(self):
        self.db.close()


RIVALS = {"lapse": Lapse, "diskcache": DiskCache, "lmdb": Lmdb, "sqlite3": Sqlite}
WORKLOADS = ("set with TTL", "get", "bulk load", "purge")


CLOCKS = {"time that passed": time.perf_counter, "processor's time": time.process_time}


def stopped(work):
    """How long it took, by each clock."""
    start = {name: clock() for name, clock in CLOCKS.items()}
    work()
    return {name: clock() - start[name] for name, clock in CLOCKS.items()}


def set_all(store, pairs):
    for key, value in pairs:
        store.set(key, value)


def get_all(store, pairs):
    for key, value in pairs:
        if store.get(key) != value:
            raise AssertionError(f"{type(store).__name__} lost {key!r}")


def measure(rival, pairs, shuffled, folder):
    """Microseconds a key, by workload and clock."""
    took = {}
    fresh = pathlib.Path(tempfile.mkdtemp(dir=folder))
    store = rival(fresh)
    took["set with TTL"] = stopped(lambda: set_all(store, pairs))
    took["get"] = stopped(lambda: get_all(store, shuffled))
    removed = []
    took["purge"] = stopped(lambda: removed.append(store.purge()))
    if removed != [len(pairs)]:
        raise AssertionError(f"{rival.__name__} purged {removed} of {len(pairs)}")
    store.close()
    shutil.rmtree(fresh)

    fresh = pathlib.Path(tempfile.mkdtemp(dir=folder))
    store = rival(fresh)
    took["bulk load"] = stopped(lambda: store.load(pairs))
    get_all(store, shuffled[:100])
    store.close()
    shutil.rmtree(fresh)
    return {workload: {name: seconds / len(pairs) * 1e6 for name, seconds in times.items()}
            for workload, times in took.items()}


def report(results, clock):
    medians = {name: {workload: statistics.median(turn[workload][clock] for turn in turns) for workload in WORKLOADS}
               for name, turns in results.items()}
    others = list(RIVALS)[1:]
    print(f"\n{clock}, µs a key; and how many times as much as lapse")
    print(" " * 14 + "".join(f"{name:>12}" for name in RIVALS) + "".join(f"{'x ' + name:>13}" for name in others))
    for workload in WORKLOADS:
        own = medians["lapse"][workload]
        line = "".join(f"{medians[name][workload]:>12.2f}" for name in RIVALS)
        print(f"{workload:<14}{line}" + "".join(f"{medians[name][workload] / own:>13.1f}" for name in others))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=None, help="where the files go; by default the temporary folder")
    options = parser.parse_args()

    chance = random.Random(1)
    pairs = [(f"session:{i:08}".encode(), chance.randbytes(options.value_bytes)) for i in range(options.keys)]
    chance.shuffle(pairs)
    shuffled = chance.sample(pairs, len(pairs))

    results = {name: [] for name in RIVALS}
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="lapse-bench-") as folder:
        print(f"Python {platform.python_version()}, lapse {lapse.__version__}, diskcache {diskcache.__version__}, "
              f"lmdb {'.'.join(map(str, lmdb.version()))}, SQLite {sqlite3.sqlite_version}")
        print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {options.keys:,} keys, "
              f"values of {options.value_bytes} bytes, {options.rounds} rounds, in {folder}")
        for _ in range(options.rounds):
            for name, rival in RIVALS.items():
                results[name].append(measure(rival, pairs, shuffled, folder))
    for clock in CLOCKS:
        report(results, clock)


if __name__ == "__main__":
    main()
