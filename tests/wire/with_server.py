"""A real `lapse serve` for tests: on a free loopback port, with a store in a temporary folder.

    with_server.py LAPSE COMMAND …      runs the command with LAPSE_PORT set, and fails if it or the server does

From Python: `with lapse_server(binary) as port`."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile

PATIENCE_S = 120  # for a server to start or to leave; generous, for sanitizers on a busy machine
ATTEMPTS = 5  # someone else may take the port between our looking and our using it


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(binary, folder, settings):
    """The process and its port, once it says that it serves."""
    for _ in range(ATTEMPTS):
        port = free_port()
        command = [binary, "serve", os.path.join(folder, "wire.db"), "--port", str(port), *settings]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        first_line = server.stdout.readline()
        if first_line.startswith("Serving"):
            return server, port
        server.stdout.close()
        server.wait(PATIENCE_S)
    raise RuntimeError(f"{binary} serve did not start: {first_line!r}, code {server.returncode}")


def stop(server):
    """As an operator would. It must drain, close its store and say so."""
    server.send_signal(signal.SIGTERM)
    rest, _ = server.communicate(timeout=PATIENCE_S)
    if server.returncode != 0 or "Closed." not in rest:
        raise RuntimeError(f"the server left with code {server.returncode}, saying {rest!r}")


@contextlib.contextmanager
def lapse_server(binary, *settings):
    with tempfile.TemporaryDirectory(prefix="lapse-wire-") as folder:
        server, port = start(binary, folder, settings)
        try:
            yield port
            stop(server)
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()


def main(binary, *command):
    with lapse_server(binary) as port:
        return subprocess.run(command, env={**os.environ, "LAPSE_PORT": str(port)}).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
