"""Durability full under load: while the disk is at work on a turn, what clients send next is read already. So clients
count, in pipelines of any length, and others hang up in the middle of what they say: nothing is lost, mixed up or
counted twice, and nobody waits for ever."""

import random
import tempfile
import threading
import unittest

from serving import Client, Gone, request, serving

COUNTERS = 6
ROUNDS = 1_000


class Counter(threading.Thread):
    """Counts its own key up, and expects each number in its turn."""

    def __init__(self, server, name):
        super().__init__()
        self.client, self.name, self.failure = Client(server), name, None

    def run(self):
        count = 0
        try:
            for _ in range(ROUNDS):
                batch = random.choice([1, 1, 2, 7, 40])
                self.client.send(b"".join(request("INCR", self.name) for _ in range(batch)) + request("GET", self.name))
                for _ in range(batch):
                    count += 1
                    if (got := self.client.reply()) != f":{count}":
                        raise AssertionError(f"{self.name}: {got!r} instead of {count}")
                if (got := self.client.reply()) != str(count).encode():
                    raise AssertionError(f"{self.name}: {got!r} was read after {count} was told")
        except (AssertionError, Gone) as failure:
            self.failure = failure
        finally:
            self.client.close()


class Rude(threading.Thread):
    """Says something, and is gone before the answer, or in the middle of a command."""

    def __init__(self, server, done):
        super().__init__()
        self.server, self.done = server, done

    def run(self):
        while not self.done.is_set():
            with Client(self.server) as client:
                said = b"".join(request("SET", f"rude:{random.randrange(100)}", "x" * random.randrange(300))
                                for _ in range(3))
                if random.random() < 0.3:
                    client.send(said)
                    client.reply()
                else:
                    client.send(said[:random.randrange(1, len(said))])


class Synced(unittest.TestCase):
    def test_many_clients_count_while_others_hang_up(self):
        with tempfile.TemporaryDirectory(prefix="lapse-synced-") as folder:
            with serving(folder, "--durability", "full", "--buffer-bytes", "1048576") as server:
                done = threading.Event()
                rude = [Rude(server, done) for _ in range(2)]
                counters = [Counter(server, f"counter:{i}") for i in range(COUNTERS)]
                for thread in rude + counters:
                    thread.start()
                for counter in counters:
                    counter.join()
                done.set()
                for thread in rude:
                    thread.join()
                self.assertEqual([None] * COUNTERS, [counter.failure for counter in counters])
                with Client(server) as client:
                    self.assertEqual("+PONG", client("PING"))
                self.assertEqual(0, server.terminate()[0])

    def test_a_client_that_quits_gets_its_replies_first(self):
        with tempfile.TemporaryDirectory(prefix="lapse-synced-") as folder:
            with serving(folder, "--durability", "full") as server:
                for i in range(50):
                    with Client(server) as writer, Client(server) as quitter:
                        writer.send(request("SET", "busy", i))
                        quitter.send(request("SET", "last", i) + request("QUIT"))
                        self.assertEqual("+OK", quitter.reply())
                        self.assertEqual("+OK", quitter.reply())
                        self.assertEqual("+OK", writer.reply())


if __name__ == "__main__":
    unittest.main()
