"""A real `lapse serve` for tests that end it, starve it or lie to it; and a client that sends what it likes."""

import contextlib
import os
import signal
import socket
import subprocess
import time

LAPSE = os.environ["LAPSE_BINARY"]
PATIENCE_S = 60  # for what must happen: generous, for sanitizers on a busy machine


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Started at once; `settings` are flags. `prefix` is a command to run it under."""

    def __init__(self, folder, *settings, prefix=(), **popen):
        self.port = free_port()
        command = [*prefix, LAPSE, "serve", os.path.join(folder, "my.db"), "--port", str(self.port), *settings]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **popen)
        line = self.process.stdout.readline()
        if not line.startswith("Serving"):
            self.end()
            raise RuntimeError(f"it did not start: {line!r}")

    def terminate(self):
        """SIGTERM; the exit code and what it said."""
        self.process.send_signal(signal.SIGTERM)
        rest, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, rest

    def kill(self):
        self.process.kill()
        self.end()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def serving(folder, *settings, **options):
    server = Server(folder, *settings, **options)
    try:
        yield server
    finally:
        server.end()


def request(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


class Gone(Exception):
    """The server has closed the connection."""


class Client:
    def __init__(self, server, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", server.port))
        self.unread = b""

    def __call__(self, *words):
        self.send(request(*words))
        return self.reply()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except ConnectionError:
            raise Gone from None

    def line(self):
        while b"\r\n" not in self.unread:
            self.more()
        line, self.unread = self.unread.split(b"\r\n", 1)
        return line

    def more(self):
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            raise Gone from None
        if not data:
            raise Gone
        self.unread += data

    def reply(self):
        """A line with its mark for simple strings, errors and numbers; bytes for bulk strings; a list for arrays."""
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            if rest == b"-1":
                return None
            size = int(rest)
            while len(self.unread) < size + 2:
                self.more()
            value, self.unread = self.unread[:size], self.unread[size + 2:]
            return value
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return line.decode()

    def is_gone(self):
        """Whether the server closes the connection, whatever it sends before."""
        try:
            while True:
                self.more()
                self.unread = b""
        except Gone:
            return True
        except TimeoutError:
            return False

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def until(holds):
    """Asks the server again and again, for what must come to hold."""
    give_up_at = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > give_up_at:
            raise AssertionError("it never came to hold")


IMPATIENT = ("--half-command-timeout", "1")


def turns(client):
    fields = dict(line.split(b":", 1) for line in client("INFO", "lapse").split(b"\r\n") if b":" in line)
    return int(fields[b"turns"])


def turns_of_a_resting_server(asking, doomed):
    """How many turns the loop makes while nothing happens but that a client is given up for half a command. A loop that
    rests has about ten a second; one that does not, tens of thousands. REQUIRES: a server started with IMPATIENT"""
    before = turns(asking)
    doomed.send(b"*1\r\n$4\r\nPI")
    if not doomed.is_gone():
        raise AssertionError("half a command was waited for")
    return turns(asking) - before
