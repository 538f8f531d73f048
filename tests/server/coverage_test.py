#!/usr/bin/env python3
"""Fails if a command, or a subcommand, that the server knows is used by no test in tests/server.

usage: coverage_test.py LAPSE_BINARY TESTS_DIRECTORY

The server itself is asked for the names (COMMAND LIST). A test uses a command if it has its name as people type it at the
beginning of a text, "CLIENT GETNAME …", or as a list of words, {"CLIENT", "GETNAME", …}.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from live_server import Client, lapse  # noqa: E402


def command_names(binary):
    with lapse(binary) as port:
        return [name.decode() for name in Client(port)("COMMAND", "LIST")]


def texts_of(directory):
    text = "\n".join(path.read_text() for path in sorted(pathlib.Path(directory).rglob("*_test.cc")))
    return re.sub(r'",\s*"', " ", text)  # {"CLIENT", "ID"} reads as "CLIENT ID"


def is_used(name, text):
    words = re.escape(name.replace("|", " "))
    return re.search(rf'"{words}(?=[\s"\\])', text, re.IGNORECASE) is not None


def main():
    binary, directory = sys.argv[1:]
    names = command_names(binary)
    parents = {name.split("|")[0] for name in names if "|" in name}
    text = texts_of(directory)
    missing = [name for name in names if name not in parents and not is_used(name, text)]
    for name in missing:
        print(f"no test in {directory} uses {name.replace('|', ' ').upper()}")
    if len(names) < 50:
        sys.exit(f"only {len(names)} commands: that cannot be all")
    print(f"{len(names)} commands, {len(missing)} without a test")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
