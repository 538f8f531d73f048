"""Keys that are due go on time beside many that have long to live: an event comes for each, in order, none early. How late
they come, bench/server_expiry.py measures."""

import tempfile
import time
import unittest

from serving import Client, request, serving

FAR_KEYS = 1_000_000
PROBES = 1_000
OVER_MS = 10_000
BEFORE_THE_FIRST_MS = 6_000  # to write them all
DAY_MS = 24 * 3600 * 1000


def now_ms():
    return time.time_ns() // 1_000_000


def set_all(client, deadlines):
    """Sets the keys in pipelines, and sees to it that each is acknowledged."""
    items = list(deadlines)
    for begin in range(0, len(items), 10_000):
        batch = items[begin:begin + 10_000]
        client.send(b"".join(request("SET", key, "x", "PXAT", deadline_ms) for key, deadline_ms in batch))
        expected = b"+OK\r\n" * len(batch)
        while len(client.unread) < len(expected):
            client.more()
        if client.unread != expected:
            raise AssertionError(client.unread[:200])
        client.unread = b""


class Expiry(unittest.TestCase):
    def test_each_of_a_thousand_probes_is_told_of_beside_a_million_far_deadlines(self):
        with tempfile.TemporaryDirectory(prefix="lapse-expiry-") as folder, \
                serving(folder, "--notify-keyspace-events", "Ex") as server, \
                Client(server) as client, Client(server) as listener:
            far_ms = now_ms() + DAY_MS
            set_all(client, ((f"far:{i}", far_ms + i) for i in range(FAR_KEYS)))
            listener("SUBSCRIBE", "__keyevent@0__:expired")

            first_ms = now_ms() + BEFORE_THE_FIRST_MS
            deadlines = {b"probe:%d" % i: first_ms + i * OVER_MS // PROBES for i in range(PROBES)}
            set_all(client, deadlines.items())
            told, early = [], []
            for _ in range(PROBES):
                key = listener.reply()[2]
                told.append(key)
                if now_ms() < deadlines[key]:
                    early.append(key)

            self.assertEqual(list(deadlines), told)
            self.assertEqual([], early)
            self.assertEqual(f":{FAR_KEYS}", client("DBSIZE"))


if __name__ == "__main__":
    unittest.main()
