"""How promptly a server tells that keys have expired, beside a million keys that have long to live; and how long clients
wait while a million keys expire at once.

    server_expiry.py LAPSE [--redis] [--far 1000000] [--probes 1000] [--over 10] [--burst 1000000] [--patience 60]

--redis measures Debian's redis-server instead. Ends with an error if an event does not come within the patience.
"""

import argparse
import pathlib
import select
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "support"))

from live_server import Client, lapse, redis  # noqa: E402

PIPELINE = 1000
DAY_MS = 24 * 3600 * 1000


def pipelined(client, commands):
    batch = []
    for command in commands:
        batch.append(client.request(*command))
        if len(batch) == PIPELINE:
            flush(client, batch)
    flush(client, batch)


def flush(client, batch):
    client.socket.sendall(b"".join(batch))
    for _ in batch:
        client.receive()
    batch.clear()


def show(what, milliseconds):
    ordered = sorted(milliseconds)

    def at(share):
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    print(
        f"{what}: {len(ordered)}, median {statistics.median(ordered):.1f} ms, p99 {at(0.99):.1f} ms,"
        f" longest {ordered[-1]:.1f} ms"
    )


def measure_events(port, far, probes, over_s, patience_s):
    """Whether an event came for every probe."""
    client = Client(port)
    pipelined(client, (("SET", f"far:{i}", "x" * 100, "PX", DAY_MS + i) for i in range(far)))
    listener = Client(port)
    listener("SUBSCRIBE", "__keyevent@0__:expired")

    first_ms = int(time.time() * 1000) + 2000
    deadlines = {f"probe:{i}".encode(): first_ms + i * over_s * 1000 // probes for i in range(probes)}
    pipelined(client, (("SET", key, "x", "PXAT", deadline_ms) for key, deadline_ms in deadlines.items()))
    give_up_at = (first_ms / 1000) + over_s + patience_s
    late_ms = []
    while len(late_ms) < probes and time.time() < give_up_at:
        if not listener.input.peek(1)[:1] and not select.select([listener.socket], [], [], 0.1)[0]:
            continue
        _, _, key = listener.receive()
        if key in deadlines:
            late_ms.append(time.time() * 1000 - deadlines[key])
    print(f"events: {len(late_ms)} of {probes}, beside {far} keys with far deadlines")
    if late_ms:
        show("lateness", late_ms)
    return len(late_ms) == probes


def measure_burst(port, count, patience_s):
    """Whether all keys of a burst went; shows how long a client waited for its replies meanwhile."""
    client = Client(port)
    before = client("DBSIZE")
    deadline_ms = int(time.time() * 1000) + 1000 + count // 40
    pipelined(client, (("SET", f"burst:{i}", "x" * 100, "PXAT", deadline_ms + i * 1000 // count) for i in range(count)))
    spare_s = deadline_ms / 1000 - time.time()
    print(f"burst: {count} keys due within one second, {max(0.0, spare_s):.1f} s after the last was written")
    waits_ms, done = [], threading.Event()

    def wait_for_replies():
        other = Client(port)
        while not done.is_set():
            begin = time.perf_counter()
            other("GET", "burst:0")
            waits_ms.append((time.perf_counter() - begin) * 1000)

    time.sleep(max(0, spare_s))
    thread = threading.Thread(target=wait_for_replies)
    thread.start()
    begin = time.monotonic()
    while time.monotonic() - begin < patience_s:
        time.sleep(0.1)
        if int(info(client).get("expired_keys", 0)) >= count:
            break
    print(f"burst: done {time.monotonic() - begin:.1f} s after the first was due")
    done.set()
    thread.join()
    show("GET meanwhile", waits_ms)
    return client("DBSIZE") == before


def info(client):
    try:
        text = client("INFO", "stats")
    except Exception:  # a server that has none: the time alone is told
        return {}
    return dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--redis", action="store_true")
    parser.add_argument("--far", type=int, default=1_000_000)
    parser.add_argument("--probes", type=int, default=1_000)
    parser.add_argument("--over", type=int, default=10)
    parser.add_argument("--burst", type=int, default=1_000_000)
    parser.add_argument("--patience", type=int, default=60)
    options = parser.parse_args()


    def server(*settings):
        return redis(*settings) if options.redis else lapse(options.binary, *settings)

    with server("--notify-keyspace-events", "Ex") as port:
        complete = measure_events(port, options.far, options.probes, options.over, options.patience)
    if options.burst:
        with server() as port:
            complete = measure_burst(port, options.burst, options.patience) and complete
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
