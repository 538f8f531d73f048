r"""Scripts of commands, read from text files in cases/, one family a file.

    == a name for what follows          begins a script: empty databases, new connections
    SET key "two words\x00" EX 10       a command, sent as client a; "…" has \n \r \t \" \\ \xHH
    b: MULTI                            the same by another client, made when it is first named
    b <                                 client b receives something that is not the reply to its command
    # anything                          a comment
"""

import pathlib
import re
from typing import NamedTuple

ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)


class Step(NamedTuple):
    client: str
    command: tuple  # of bytes; none: receive only


class Script(NamedTuple):
    name: str
    steps: list


def _unescape(text):
    def one(match):
        what = match[1]
        return bytes([int(what[1:], 16)]) if len(what) == 3 else ESCAPES.get(what, what)

    return ESCAPE.sub(one, text)


def words(line):
    """The arguments in a line; an empty pair of quotes is an empty one."""
    return tuple(
        _unescape(match[1]) if match[1] is not None else match[2] for match in WORD.finditer(line.encode())
    )


def _step(line):
    named = re.match(r"(\w+)(: | <)", line)
    if named is None:
        return Step("a", words(line))
    return Step(named[1], words(line[named.end() :]) if named[2] == ": " else ())


def read_scripts(folder):
    for path in sorted(pathlib.Path(folder).glob("*.txt")):
        script = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("== "):
                if script is not None:
                    yield script
                script = Script(f"{path.stem}: {line[3:]}", [])
            elif line.strip() and not line.startswith("#"):
                script.steps.append(_step(line.strip()))
        if script is not None:
            yield script
