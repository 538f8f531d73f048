"""Runs a command beside a real `lapse serve`.

    with_server.py LAPSE COMMAND …      runs the command with LAPSE_PORT set, and fails if it or the server does"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import live_server  # noqa: E402


def main(binary, *command):
    with live_server.lapse(binary) as port:
        return subprocess.run(command, env={**os.environ, "LAPSE_PORT": str(port)}).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
