"""Real servers, and a client that needs nothing but Python: for tests and measurements from outside."""

import contextlib
import os
import socket
import subprocess
import tempfile

PATIENCE_S = 120  # generous, for sanitizers on a busy machine
ATTEMPTS = 5  # someone else may take the port between our looking and our using it


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


def start(command_for, folder, ready):
    """The process and its port, once it says that it is ready."""
    for _ in range(ATTEMPTS):
        port = free_port()
        process = subprocess.Popen(command_for(port, folder), stdout=subprocess.PIPE, text=True, cwd=folder)
        said = []
        for line in process.stdout:
            said.append(line)
            if ready in line:
                return process, port
        process.stdout.close()
        process.wait(PATIENCE_S)
    raise RuntimeError(f"{process.args[0]} did not start: {''.join(said)}, code {process.returncode}")


def stop(process):
    """As an operator would. It must leave in order."""
    process.terminate()
    rest, _ = process.communicate(timeout=PATIENCE_S)
    if process.returncode != 0:
        raise RuntimeError(f"{process.args[0]} left with code {process.returncode}, saying {rest!r}")
    return rest


@contextlib.contextmanager
def running(command_for, ready, farewell=""):
    """The port of a server that runs `command_for(port, folder)`, with a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="lapse-live-") as folder:
        process, port = start(command_for, folder, ready)
        try:
            yield port
            if farewell not in (rest := stop(process)):
                raise RuntimeError(f"{process.args[0]} left saying {rest!r}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def lapse(binary, *settings):
    binary = os.path.abspath(binary)
    return running(
        lambda port, folder: [binary, "serve", os.path.join(folder, "live.db"), "--port", str(port), *settings],
        ready="Serving",
        farewell="Closed.",  # drained, and the store closed
    )


def redis(*settings):
    return running(
        lambda port, folder: [
            "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
            "--save", "", "--appendonly", "no", *settings
        ],
        ready="Ready to accept connections",
    )
