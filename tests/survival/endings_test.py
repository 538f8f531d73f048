"""How a server ends, and what is there when it begins again: kill -9 and SIGTERM under load, and a disk that is full.

    LAPSE_ROUNDS=100 endings_test.py      makes it longer (default: 5)"""

import os
import random
import subprocess
import tempfile
import threading
import unittest

from serving import IMPATIENT, Client, Gone, Server, request, serving, turns_of_a_resting_server, until

ROUNDS = int(os.environ.get("LAPSE_ROUNDS", "5"))
WRITERS = 4
LARGE = b"x" * 100_000  # more than a full disk has left in its corners


class Writer(threading.Thread):
    """Sets its own keys, a few at a time, and remembers what was acknowledged, and what may be there."""

    def __init__(self, server, name, begin):
        super().__init__()
        self.client = Client(server)
        self.name, self.acknowledged, self.sent = name, begin, begin

    def run(self):
        try:
            while True:
                batch = random.randint(1, 8)
                self.sent += batch
                first = self.acknowledged
                self.client.send(b"".join(request("SET", f"{self.name}:{n}", f"value {n}")
                                          for n in range(first, first + batch)))
                for _ in range(batch):
                    if self.client.reply() != "+OK":
                        return
                    self.acknowledged += 1
        except Gone:
            pass
        finally:
            self.client.close()


class Endings(unittest.TestCase):
    def end_under_load(self, durability, end):
        """In each round the store goes on where the last one left it."""
        reached = {f"writer{i}": 0 for i in range(WRITERS)}
        with tempfile.TemporaryDirectory(prefix="lapse-endings-") as folder:
            for _ in range(ROUNDS):
                server = Server(folder, "--durability", durability, "--buffer-bytes", "262144")
                try:
                    writers = [Writer(server, name, begin) for name, begin in reached.items()]
                    for writer in writers:
                        writer.start()
                    enough = sum(reached.values()) + random.randint(200, 2000)
                    until(lambda: sum(writer.acknowledged for writer in writers) >= enough)
                    end(server)
                    for writer in writers:
                        writer.join()
                finally:
                    server.end()
                reached = {writer.name: writer.acknowledged for writer in writers}
                self.check(folder, writers)
        print(f"{ROUNDS} rounds, {sum(reached.values())} acknowledged", flush=True)

    def check(self, folder, writers):
        with serving(folder) as server, Client(server) as client:
            for writer in writers:
                for begin in range(0, writer.sent, 500):
                    numbers = range(begin, min(begin + 500, writer.sent))
                    client.send(b"".join(request("GET", f"{writer.name}:{n}") for n in numbers))
                    for n in numbers:
                        value = client.reply()
                        if n < writer.acknowledged or value is not None:
                            self.assertEqual(f"value {n}".encode(), value, f"{writer.name}:{n}")
            self.assertEqual(0, server.terminate()[0])

    def test_kill_9_at_durability_full_loses_nothing_acknowledged(self):
        self.end_under_load("full", Server.kill)

    def test_kill_9_at_durability_normal_loses_nothing_either_for_the_system_lives(self):
        self.end_under_load("normal", Server.kill)

    def test_sigterm_finishes_and_closes(self):
        def terminate(server):
            code, said = server.terminate()
            self.assertEqual((0, True), (code, "Closed." in said))

        self.end_under_load("none", terminate)

    def test_sigterm_lets_clients_have_their_replies(self):
        with tempfile.TemporaryDirectory() as folder, serving(folder) as server, Client(server) as client:
            self.assertEqual("+OK", client("SET", "key", b"x" * 5_000_000))
            client.send(request("GET", "key"))
            client.more()  # it has begun to answer
            terminating = threading.Thread(target=server.terminate)
            terminating.start()
            self.assertEqual(5_000_000, len(client.reply()))
            terminating.join()
            self.assertEqual(0, server.process.returncode)


class SmallDisk:
    """A tmpfs in a mount namespace of its own, which a process keeps open: others enter it by nsenter."""

    def __init__(self, folder, size):
        self.folder = folder
        script = f'mount -t tmpfs -o size={size} lapse "{folder}" && echo ready && exec sleep 1000'
        self.holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        self.works = self.holder.stdout.readline() == "ready\n"
        self.enter = ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt"]

    def fill(self):
        subprocess.run([*self.enter, "sh", "-c", f'cat /dev/zero >> "{self.folder}/filler"'],
                       stderr=subprocess.DEVNULL)

    def make_room(self):
        subprocess.run([*self.enter, "rm", f"{self.folder}/filler"], check=True)

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class FullDisk(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lapse-full-")
        self.addCleanup(folder.cleanup)
        self.disk = SmallDisk(folder.name, "16m")
        self.addCleanup(self.disk.close)
        if not self.disk.works:
            self.skipTest("not allowed to mount a tmpfs in a namespace")

    def serve(self, *settings):
        context = serving(self.disk.folder, *settings, prefix=self.disk.enter)
        server = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return server

    def set_until_refused(self, client):
        for n in range(100_000):
            reply = client("SET", f"filling{n}", b"x" * 1000)
            if reply != "+OK":
                return reply
        self.fail("the disk never was full")

    def test_writes_get_an_error_reads_go_on_and_later_writes_work(self):
        server = self.serve("--buffer-bytes", "1mb", *IMPATIENT)
        with Client(server) as client, Client(server) as reader:
            self.assertEqual("+OK", client("SET", "key", "value"))
            self.assertEqual("+OK", client("SET", "dying", "value", "PX", "300"))
            self.disk.fill()
            self.assertRegex(self.set_until_refused(client), "^-MISCONF ")
            for _ in range(20):
                # In one turn or not, beside writes that fail: what only reads is answered.
                client.send(request("SET", "key", LARGE))
                reader.send(request("GET", "key"))
                self.assertRegex(client.reply(), "^-MISCONF ")
                self.assertEqual(b"value", reader.reply())
            client.send(request("GET", "key") + request("SET", "key", LARGE) + request("GET", "key"))
            self.assertEqual(b"value", client.reply())
            self.assertRegex(client.reply(), "^-MISCONF ")
            self.assertEqual(b"value", client.reply())
            self.check_the_loop_rests(server, reader)
            self.disk.make_room()
            until(lambda: client("SET", "key", "new") == "+OK")
            self.assertEqual(b"new", reader("GET", "key"))
        self.assertEqual(0, server.terminate()[0])

    # A key is due meanwhile and cannot be removed: it is hidden, and not a reason to be busy.
    def check_the_loop_rests(self, server, reader):
        until(lambda: reader("GET", "dying") is None)
        with Client(server) as doomed:
            self.assertLess(turns_of_a_resting_server(reader, doomed), 200)
        self.assertEqual(b"value", reader("GET", "key"))


if __name__ == "__main__":
    unittest.main()
