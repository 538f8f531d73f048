"""Real servers, and a client that needs nothing but Python: for tests and measurements from outside."""

import contextlib
import os
import socket
import subprocess
import tempfile
import time

PATIENCE_S = 120


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ReplyError(Exception):
    pass


class Client:
    """Speaks RESP2. A call is a command; `send` and `receive` are its halves, for pipelines and subscribers."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.socket.makefile("rb")

    def __call__(self, *arguments):
        self.send(*arguments)
        return self.receive()

    def send(self, *arguments):
        self.socket.sendall(self.request(*arguments))

    @staticmethod
    def request(*arguments):
        parts = [b"*%d\r\n" % len(arguments)]
        for argument in arguments:
            data = argument if isinstance(argument, bytes) else str(argument).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        return b"".join(parts)

    def receive(self):
        line = self.input.readline()
        if not line:
            raise EOFError("the server has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ReplyError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if int(rest) < 0:
            return None
        if kind == b"$":
            return self.input.read(int(rest) + 2)[:-2]
        return [self.receive() for _ in range(int(rest))]

    def close(self):
        self.input.close()
        self.socket.close()


def wait_until_it_answers(port, process):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError, EOFError, ReplyError):
            client = Client(port)
            answer = client("PING")
            client.close()
            if answer == "PONG":
                return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args[0]} does not answer on port {port}")


@contextlib.contextmanager
def running(command_for):
    """The port of a server that runs `command_for(port, folder)`, with a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="lapse-live-") as folder:
        port = free_port()
        process = subprocess.Popen(command_for(port, folder), stdout=subprocess.DEVNULL)
        try:
            wait_until_it_answers(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def lapse(binary, *settings):
    return running(lambda port, folder: [binary, "serve", os.path.join(folder, "live.db"), "--port", str(port), *settings])


def redis(*settings):
    return running(
        lambda port, folder: [
            "redis-server", "--port", str(port), "--dir", folder, "--save", "", "--appendonly", "no", *settings
        ]
    )
