"""DUMP and RESTORE against a real Redis, both ways.

    redis_dump_test.py LAPSE
"""

import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

from live_server import Client, ReplyError, lapse, redis  # noqa: E402

SKIPPED = 77


def values():
    yield from (b"", b"a", b"0", b"-1", b"127", b"128", b"-128", b"-129", b"32767", b"32768", b"-32769")
    yield from (b"2147483647", b"-2147483648", b"2147483648", b"9223372036854775807", b"01", b"1.5", b"\x00\xff\r\n")
    for length in (20, 21, 63, 64, 300, 16383, 16384, 70000):
        yield b"x" * length  # Redis compresses these
        yield b"".join(b"field-%d=%d;" % (i, i * i) for i in range(length))[:length]
        yield random.Random(length).randbytes(length)  # and leaves these


def expect_same(source, target):
    for number, value in enumerate(values()):
        key = f"key:{number}"
        source("SET", key, value)
        payload = source("DUMP", key)
        assert target("RESTORE", key, 0, payload, "REPLACE") == "OK"
        assert target("GET", key) == value, (number, value[:40])
        assert target("RESTORE", key, 100000, payload, "REPLACE") == "OK"
        assert 0 < target("PTTL", key) <= 100000


def refusal(client, *arguments):
    try:
        return client(*arguments)
    except ReplyError as error:
        return str(error)


def expect_same_refusals(ours, theirs):
    theirs("RPUSH", "list", "a", "b")
    payload = ours("DUMP", "key:0")
    for arguments in (
        ("new", 0, theirs("DUMP", "list") + b"x"),
        ("new", 0, b"nonsense"),
        ("new", 0, payload[:-1]),
        ("new", -1, payload),
        ("new", "soon", payload),
        ("key:0", 0, payload),
        ("new", 0, payload, "FREQ", 256),
        ("new", 0, payload, "IDLETIME", -1),
        ("new", 0, payload, "GENTLY"),
    ):
        assert refusal(ours, "RESTORE", *arguments) == refusal(theirs, "RESTORE", *arguments), arguments
    assert "only strings" in refusal(ours, "RESTORE", "list", 0, theirs("DUMP", "list"))


def main(binary):
    if shutil.which("redis-server") is None:
        print("redis-server is not installed")
        return SKIPPED
    with lapse(binary) as our_port, redis() as their_port:
        ours, theirs = Client(our_port), Client(their_port)
        expect_same(theirs, ours)
        expect_same(ours, theirs)
        expect_same_refusals(ours, theirs)
        ours.close()
        theirs.close()
    print("OK")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
