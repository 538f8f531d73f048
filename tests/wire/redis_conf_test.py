"""A redis.conf as people have it: Lapse starts with it, and says what it does instead.

    redis_conf_test.py LAPSE"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from live_server import Client, free_port, redis  # noqa: E402

STOCK = "/etc/redis/redis.conf"  # of Debian's redis-server
TAKE_MANY = {"bind", "client-output-buffer-limit"}  # values that stand on the line as they are
OWN = {"bind": "127.0.0.1", "port": None, "unixsocket": None, "requirepass": None}  # not as that server has them


def ask(port, *command):
    with contextlib.closing(Client(port)) as client:
        return client(*command)


class RedisConf(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lapse-conf-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def serve_with(self, text):
        """Has a server answer a PING with this config file; what it said at its start."""
        path = os.path.join(self.folder, "redis.conf")
        with open(path, "w") as file:
            file.write(text)
        port = free_port()
        command = [LAPSE, "serve", "", "--config", path, "--port", str(port)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            if not server.stdout.readline().startswith("Serving"):
                self.fail(server.stderr.read())
            self.assertEqual("PONG", ask(port, "PING"))
        finally:
            server.terminate()
            _, warnings = server.communicate(timeout=60)
        self.assertEqual(0, server.returncode)
        return warnings

    @unittest.skipUnless(os.access(STOCK, os.R_OK), f"{STOCK} cannot be read")
    def test_debians_starts_a_server(self):
        with open(STOCK) as file:
            text = file.read()
        for name, value in (("daemonize", "no"), ("dir", self.folder), ("logfile", '""'), ("pidfile", '""')):
            text, changed = re.subn(rf"^{name} .*$", f"{name} {value}", text, flags=re.MULTILINE)
            self.assertEqual(1, changed, name)
        warnings = self.serve_with(text)
        self.assertIn("appendonly has no effect: every commit goes to the disk", warnings)
        self.assertIn("replica-read-only means nothing here", warnings)

    def test_every_directive_of_redis_is_known(self):
        with redis() as port:
            found = ask(port, "CONFIG", "GET", "*")
        lines = []
        for name, value in zip(found[::2], found[1::2]):
            name, value = name.decode(), OWN.get(name.decode(), value.decode())
            if value is not None:
                lines.append(f"{name} {value}" if name in TAKE_MANY else f'{name} "{value}"')
        self.assertGreater(len(lines), 150)
        self.serve_with("\n".join(lines) + "\n")


if __name__ == "__main__":
    LAPSE = sys.argv.pop()
    unittest.main()
