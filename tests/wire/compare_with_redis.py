#!/usr/bin/python3
r"""Sends the same commands to redis-server and to lapse, and compares what comes back, byte by byte.

First the scripts in cases/*.txt (scripts.py says how they are written), in RESP2 and RESP3, with the events that a
subscriber hears meanwhile; then up to three options at a time; then random commands. What differs on purpose is in MEANT.

    compare_with_redis.py BINARY [--seed N] [--sequences N] [--only TEXT]
"""

import argparse
import contextlib
import itertools
import pathlib
import random
import re
import shutil
import sys
from typing import NamedTuple

import random_commands
import scripts
import wire

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import live_server  # noqa: E402


class Meant(NamedTuple):
    """A difference on purpose: all three are regular expressions, over the command and over either reply."""

    command: bytes
    redis: bytes
    lapse: bytes
    reason: str


MEANT = [
    Meant(
        rb"BIT(COUNT|POS) ",
        rb":(0|-1)\r\n",
        rb"-ERR (syntax error|value is not an integer or out of range)\r\n",
        "since Redis 7.2 they check their arguments also for a key that is not there",
    ),
    Meant(
        rb"SELECT \D",
        rb"-ERR value is not an integer",
        rb"-ERR invalid DB index: neither a number nor the name of a family",
        "families have names, and can be selected by them",
    ),
    Meant(
        rb"SCAN -",
        rb"\*2\r\n\$1\r\n0",
        rb"-ERR invalid cursor",
        "a cursor that nobody was given is an error, and not the end of a scan",
    ),
]

# The time goes on between the two: replies of these may differ by so much.
TOLERANCE = {b"TTL": 5, b"PTTL": 5000, b"EXPIRETIME": 5, b"PEXPIRETIME": 5000}

EVENTS = ("--notify-keyspace-events", "KEAnm")
END_OF_EVENTS = b"end-of-events"


def readable(command):
    return " ".join(
        word.decode() if re.fullmatch(rb"[!-~]+", word) and b'"' not in word else '"' + repr(word)[2:-1] + '"'
        for word in command
    )


def nearly_equal(command, ours, theirs):
    tolerance = TOLERANCE.get(command[0].upper()) if command else None
    numbers = [re.fullmatch(rb":(\d+)\r\n", reply) for reply in (ours, theirs)]
    return bool(tolerance and all(numbers) and abs(int(numbers[0][1]) - int(numbers[1][1])) <= tolerance)


class Comparison:
    def __init__(self, redis_port, lapse_port):
        self.ports = (redis_port, lapse_port)
        self.differences = 0
        self.compared = 0
        self.met = set()  # of MEANT

    def same(self, command, redis, lapse):
        self.compared += 1
        if redis == lapse or nearly_equal(command, redis, lapse):
            return True
        line = b" ".join(command)
        for meant in MEANT:
            patterns = ((meant.command, line), (meant.redis, redis), (meant.lapse, lapse))
            if all(re.match(pattern, text, re.IGNORECASE | re.DOTALL) for pattern, text in patterns):
                self.met.add(meant)
                return True
        return False

    def tell(self, where, command, redis, lapse):
        self.differences += 1
        print(f"\n{where}\n  {readable(command)}\n    redis: {redis!r}\n    lapse: {lapse!r}")

    def fresh_clients(self, protocol):
        clients = [wire.Connection(port) for port in self.ports]
        for client in clients:
            if client.ask("HELLO", protocol)[:1] == b"-":
                raise RuntimeError("HELLO was refused")
        return clients

    def empty_databases(self):
        for port in self.ports:
            with contextlib.closing(wire.Connection(port)) as client:
                assert client.ask("FLUSHALL") == b"+OK\r\n"

    # ------------------------------------------------------------------------------------------ scripts

    def run_script(self, script, protocol):
        self.empty_databases()
        where = f"{script.name} (RESP{protocol})"
        with contextlib.ExitStack() as stack:
            events = [stack.enter_context(contextlib.closing(Events(port))) for port in self.ports]
            clients = {}
            for step in script.steps:
                if step.client not in clients:
                    clients[step.client] = self.fresh_clients(protocol)
                    for client in clients[step.client]:
                        stack.callback(client.close)
                redis, lapse = (self.take(client, step.command) for client in clients[step.client])
                if not self.same(step.command, redis, lapse):
                    self.tell(where, step.command or (step.client.encode(), b"<"), redis, lapse)
            redis, lapse = (heard.all() for heard in events)
            if redis != lapse:
                self.tell(where, (b"events",), redis, lapse)

    @staticmethod
    def take(client, command):
        try:
            if command:
                client.send(command)
            return client.receive()
        except wire.NoReply as problem:
            return f"(no reply: {problem})".encode()

    # ----------------------------------------------------------------------------------------- sequences

    def first_difference(self, commands, protocol):
        """Sends all of them at once; answers the first command whose replies differ, with both, or None."""
        self.empty_databases()
        clients = self.fresh_clients(protocol)
        try:
            for client in clients:
                client.send(*commands)
            for command in commands:
                redis, lapse = (self.take(client, ()) for client in clients)
                if not self.same(command, redis, lapse):
                    return command, redis, lapse
        finally:
            for client in clients:
                client.close()
        return None

    def shortened(self, commands, protocol):
        """As few of them as still differ."""
        size = len(commands) // 2
        while size > 0:
            at = 0
            while at < len(commands):
                fewer = commands[:at] + commands[at + size :]
                if fewer and self.first_difference(fewer, protocol):
                    commands = fewer
                else:
                    at += size
            size //= 2
        return commands

    def run_sequence(self, where, commands, protocol):
        first = self.first_difference(commands, protocol)
        if first is None:
            return
        # Between two commands a millisecond may pass in one server and not in the other, and a deadline be later by it.
        found = self.first_difference(commands, protocol)
        if found is None:
            print(f"{where}: differed once, and not again: {readable(first[0])}: {first[1]!r}, {first[2]!r}")
            return
        shortened = self.shortened(commands, protocol)
        if again := self.first_difference(shortened, protocol):
            commands, found = shortened, again
        before = "".join(f"\n  {readable(command)}" for command in commands[:-1])
        self.tell(f"{where} (RESP{protocol}){before}", *found)


class Events:
    """A client that hears of every change."""

    def __init__(self, port):
        self.port = port
        self.client = wire.Connection(port)
        self.client.ask("PSUBSCRIBE", "__key*__:*", END_OF_EVENTS)
        self.client.receive()

    def close(self):
        self.client.close()

    def all(self):
        with contextlib.closing(wire.Connection(self.port)) as other:
            other.ask("PUBLISH", END_OF_EVENTS, "")
        heard = []
        while (message := self.client.receive().split(b"\r\n"))[6] != END_OF_EVENTS:
            heard.append(message[6] + b" " + message[8])
        return heard


LIFETIMES = [(b"EX", b"100"), (b"PX", b"100000"), (b"EXAT", b"33177117420"), (b"PXAT", b"33177117420000")]
OPTIONS = {
    (b"SET", b"<key>", b"v"): [(b"NX",), (b"XX",), (b"GET",), (b"KEEPTTL",), (b"PERSIST",), *LIFETIMES]
    + [(b"EX", b"0"), (b"PX", b"x"), (b"EX",)],
    (b"GETEX", b"<key>"): [(b"PERSIST",), (b"KEEPTTL",), (b"NX",), *LIFETIMES]
    + [(b"EX", b"0"), (b"PXAT", b"x"), (b"PX",)],
    (b"LCS", b"<key>", b"other"): [(b"LEN",), (b"IDX",), (b"WITHMATCHLEN",)]
    + [(b"MINMATCHLEN", b"2"), (b"MINMATCHLEN", b"x"), (b"MINMATCHLEN",)],
    (b"EXPIRE", b"<key>", b"70"): [(b"NX",), (b"XX",), (b"GT",), (b"LT",), (b"CH",)],
    (b"COPY", b"<key>", b"other"): [(b"REPLACE",), (b"DB", b"1"), (b"DB", b"x"), (b"DB",)],
}


def option_clashes():
    """One, two and three options, on a key that is there and on one that is not."""
    for (begin, options), count in itertools.product(OPTIONS.items(), (1, 2, 3)):
        for chosen, key in itertools.product(itertools.product(options, repeat=count), (b"there", b"absent")):
            words = itertools.chain(begin, *chosen)
            command = tuple(key if word == b"<key>" else word for word in words)
            yield [
                (b"SET", b"there", b"a value", b"EX", b"50"),
                (b"SET", b"other", b"values"),
                command,
                (b"TTL", key),
                (b"GET", key),
                (b"DEL", key),
            ]


def compare(arguments, redis_port, lapse_port):
    comparison = Comparison(redis_port, lapse_port)
    cases = pathlib.Path(__file__).parent / "cases"
    for script in scripts.read_scripts(cases):
        if arguments.only in script.name:
            for protocol in (2, 3):
                comparison.run_script(script, protocol)
    print(f"scripts: {comparison.compared} replies compared")
    if arguments.only:
        return comparison
    if comparison.first_difference(clashes := list(itertools.chain(*option_clashes())), 2):
        for commands in option_clashes():
            comparison.run_sequence("options", commands, 2)
    print(f"options: {len(clashes)} commands")
    source = random.Random(arguments.seed)
    for family, templates in random_commands.FAMILIES.items():
        for number in range(arguments.sequences):
            commands = random_commands.sequence(source, 300, templates)
            where = f"seed {arguments.seed}, {family}, sequence {number}"
            comparison.run_sequence(where, commands, source.choice((2, 3)))
    for meant in MEANT:
        if meant not in comparison.met:
            print(f"Nothing differed as MEANT says: {meant.reason}")
            comparison.differences += 1
    return comparison


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("binary", help="lapse")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--sequences", type=int, default=100, help="of random commands")
    parser.add_argument("--only", default="", help="only scripts whose names have this in them")
    arguments = parser.parse_args()
    if shutil.which("redis-server") is None:
        sys.exit("redis-server is not installed: scripts/install-deps test")
    print(f"seed {arguments.seed}")
    with live_server.redis(*EVENTS) as redis_port, live_server.lapse(arguments.binary, *EVENTS) as lapse_port:
        comparison = compare(arguments, redis_port, lapse_port)
    print(f"{comparison.compared} replies compared, {comparison.differences} differences")
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
