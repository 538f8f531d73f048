"""Raw connections to servers that speak RESP, and servers of our own to connect to.

Nothing here understands a reply beyond where it ends: tests compare bytes."""

import contextlib
import os
import socket
import subprocess
import tempfile
import time

PATIENCE_S = 60  # a server that starts, or a reply; generous, for sanitizers on a busy machine


class NoReply(Exception):
    """The server closed the connection, or kept silent."""


class Connection:
    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def close(self):
        self._socket.close()

    def send(self, *commands):
        self._socket.sendall(b"".join(encode(command) for command in commands))

    def receive(self):
        """The bytes of one reply, or of one message."""
        try:
            end = self._end_of_reply(0)
        except (OSError, NoReply) as error:
            raise NoReply(str(error) or "closed") from error
        reply, self._received = self._received[:end], self._received[end:]
        return reply

    def ask(self, *command):
        self.send(command)
        return self.receive()

    def _need(self, size):
        while len(self._received) < size:
            more = self._socket.recv(1 << 16)
            if not more:
                raise NoReply("closed")
            self._received += more

    def _end_of_line(self, begin):
        while (end := self._received.find(b"\r\n", begin)) < 0:
            self._need(len(self._received) + 1)
        return end

    def _end_of_reply(self, begin):
        line_end = self._end_of_line(begin)
        kind, rest = self._received[begin : begin + 1], self._received[begin + 1 : line_end]
        end = line_end + 2
        if kind in b"$=!":
            if int(rest) >= 0:
                end += int(rest) + 2
                self._need(end)
        elif kind in b"*~>%|":
            for _ in range(int(rest) * (2 if kind in b"%|" else 1)):
                end = self._end_of_reply(end)
        return end


def encode(command):
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_it_answers(process, port, log):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError, NoReply):
            connection = Connection(port)
            with contextlib.closing(connection):
                if connection.ask("PING") == b"+PONG\r\n":
                    return
        time.sleep(0.02)
    with open(log, encoding="utf-8", errors="replace") as text:
        raise RuntimeError(f"{process.args[0]} did not start:\n{text.read()}")


@contextlib.contextmanager
def _running(make_command):
    """Starts what make_command(port, folder) says, and ends it."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        log = os.path.join(folder, "log")
        with open(log, "wb") as output:
            process = subprocess.Popen(
                make_command(port, folder), stdout=output, stderr=subprocess.STDOUT, cwd=folder
            )
        try:
            _wait_until_it_answers(process, port, log)
            yield port
        finally:
            if process.poll() is not None:
                with open(log, encoding="utf-8", errors="replace") as text:
                    print(f"{process.args[0]} ended by itself with {process.returncode}:\n{text.read()}")
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def redis_server(*settings):
    return _running(
        lambda port, folder: ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        + ["--save", "", "--appendonly", "no", *settings]
    )


def lapse_server(binary, *settings):
    binary = os.path.abspath(binary)
    return _running(
        lambda port, folder: [binary, "serve", os.path.join(folder, "store.db"), "--port", str(port)]
        + ["--bind", "127.0.0.1", *settings]
    )
