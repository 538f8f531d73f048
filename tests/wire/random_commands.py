"""Random commands over a handful of keys, with the inputs that trip implementations up.

A family of commands is a list of templates; a template is a tuple of words, of functions that draw a word, and
of Optional ones. Nothing that is drawn here depends on the time at which it runs: lifetimes are long."""

INTEGERS = b"0 1 -1 2 7 8 9 15 16 -2 -3 -8 100 -100".split() + [b"%d" % (2**63 - 1), b"%d" % -(2**63)]
ODD_INTEGERS = b"-0 +1 007 1.5 abc 0x10 9223372036854775808 1e3".split() + [b"", b" 1", b"1 "]
REALS = b"0.1 -0.5 3.0e3 1e-5 1e17 5e-324 123456789.123456789 -2 0x1p4 .5 5. +3 1e400".split()
ODD_REALS = b"inf -inf nan abc 1e5000 1,5 --1".split() + [b"", b" 1", b"1 ", b"1\x00"]
TEXTS = [b"", b"a", b"hello", b"ohmytext", b"mynewtext", b"two words"]
TEXTS += [b"\x00\xff\x00", b"\xff" * 9, b"\x00" * 5, b"x" * 300]


class Draw:
    """Where arguments come from. One seed, one sequence of commands."""

    def __init__(self, random):
        self.random = random
        self.keys = [b"k%d" % i for i in range(5)]

    def key(self):
        return self.random.choice(self.keys)

    def integer(self):
        return self.random.choice(INTEGERS if self.random.random() < 0.9 else ODD_INTEGERS)

    def small(self):
        return b"%d" % self.random.randrange(-20, 80) if self.random.random() < 0.9 else self.integer()

    def real(self):
        return self.random.choice(self.random.choices((REALS, INTEGERS, ODD_REALS), (6, 3, 1))[0])

    def value(self):
        kind = self.random.choices((INTEGERS, REALS, TEXTS, ODD_INTEGERS), (4, 2, 4, 1))[0]
        return self.random.choice(kind)

    def bit(self):
        return self.random.choice((b"0", b"1", b"0", b"1", b"0", b"1", b"2", b"-1", b"x"))

    def ttl(self):
        return self.random.choice((b"1000", b"2000", b"86400", b"0", b"-1", b"x", b"9223372036854775807"))

    def long_ms(self):
        return self.random.choice((b"1000000", b"2000000", b"86400000", b"0", b"x"))

    def future_s(self):
        return self.random.choice((b"33177117420", b"9999999999", b"0", b"x"))

    def future_ms(self):
        return self.random.choice((b"33177117420000", b"9999999999999", b"-5"))


class Optional:
    """Arguments that are there or not."""

    def __init__(self, *choices):
        self.choices = choices

    def pick(self, draw):
        return () if draw.random.random() < 0.4 else draw.random.choice(self.choices)


def fill_in(template, draw):
    command = []
    for part in template:
        if isinstance(part, Optional):
            command += fill_in(part.pick(draw), draw)
        elif callable(part):
            command.append(part(draw))
        else:
            command.append(part)
    return tuple(command)


KEY, VALUE, INT, SMALL, REAL, BIT = Draw.key, Draw.value, Draw.integer, Draw.small, Draw.real, Draw.bit
TTL, LONG_MS, FUTURE_S, FUTURE_MS = Draw.ttl, Draw.long_ms, Draw.future_s, Draw.future_ms
LIFETIME = ((b"EX", TTL), (b"PX", LONG_MS), (b"EXAT", FUTURE_S), (b"PXAT", FUTURE_MS))
ONLY = Optional((b"NX",), (b"XX",))
RANGE_UNIT = Optional((b"BYTE",), (b"BIT",), (b"bits",))

STRINGS = [
    (b"GET", KEY),
    (b"SET", KEY, VALUE),
    (b"SET", KEY, VALUE, ONLY, Optional((b"GET",)), Optional(*LIFETIME, (b"KEEPTTL",))),
    (b"SET", KEY, VALUE, Optional(*LIFETIME, (b"KEEPTTL",)), ONLY, Optional(*LIFETIME, (b"get",))),
    (b"SETNX", KEY, VALUE),
    (b"SETEX", KEY, TTL, VALUE),
    (b"PSETEX", KEY, LONG_MS, VALUE),
    (b"GETSET", KEY, VALUE),
    (b"GETDEL", KEY),
    (b"GETEX", KEY, Optional(*LIFETIME, (b"PERSIST",))),
    (b"MGET", KEY, KEY, b"absent"),
    (b"MSET", KEY, VALUE, KEY, VALUE),
    (b"MSETNX", KEY, VALUE, KEY, VALUE),
    (b"INCR", KEY),
    (b"DECR", KEY),
    (b"INCRBY", KEY, INT),
    (b"DECRBY", KEY, INT),
    (b"INCRBYFLOAT", KEY, REAL),
    (b"APPEND", KEY, VALUE),
    (b"STRLEN", KEY),
    (b"GETRANGE", KEY, SMALL, SMALL),
    (b"SUBSTR", KEY, INT, INT),
    (b"SETRANGE", KEY, SMALL, VALUE),
    (b"LCS", KEY, KEY, Optional((b"LEN",), (b"IDX",), (b"IDX", b"WITHMATCHLEN"))),
    (b"LCS", KEY, KEY, b"IDX", b"MINMATCHLEN", SMALL, b"WITHMATCHLEN"),
    (b"SETBIT", KEY, SMALL, BIT),
    (b"GETBIT", KEY, SMALL),
    (b"BITCOUNT", KEY),
    (b"BITCOUNT", KEY, SMALL, SMALL, RANGE_UNIT),
    (b"BITPOS", KEY, BIT),
    (b"BITPOS", KEY, BIT, SMALL),
    (b"BITPOS", KEY, BIT, SMALL, SMALL, RANGE_UNIT),
]

EXPIRE_ONLY = Optional((b"NX",), (b"XX",), (b"GT",), (b"LT",), (b"nx",), (b"GT", b"LT"), (b"NX", b"GT"))

KEYS = [
    (b"DEL", KEY),
    (b"DEL", KEY, KEY, b"absent"),
    (b"UNLINK", KEY, KEY),
    (b"EXISTS", KEY, KEY, b"absent"),
    (b"TOUCH", KEY, KEY, b"absent"),
    (b"TYPE", KEY),
    (b"EXPIRE", KEY, TTL, EXPIRE_ONLY),
    (b"PEXPIRE", KEY, LONG_MS, EXPIRE_ONLY),
    (b"EXPIREAT", KEY, FUTURE_S, EXPIRE_ONLY),
    (b"PEXPIREAT", KEY, FUTURE_MS, EXPIRE_ONLY),
    (b"TTL", KEY),
    (b"PTTL", KEY),
    (b"EXPIRETIME", KEY),
    (b"PEXPIRETIME", KEY),
    (b"PERSIST", KEY),
    (b"RENAME", KEY, KEY),
    (b"RENAMENX", KEY, KEY),
    (b"COPY", KEY, KEY, Optional((b"REPLACE",), (b"DB", b"0"), (b"DB", b"1"), (b"DB", b"1", b"REPLACE"))),
    (b"MOVE", KEY, b"1"),
    (b"MOVE", KEY, b"99"),
    (b"SELECT", b"0"),
    (b"SELECT", b"1"),
    (b"DBSIZE",),
    (b"OBJECT", b"REFCOUNT", b"absent"),
    (b"SCAN", b"0", b"COUNT", b"1000", Optional((b"COUNT", b"0"), (b"COUNT", b"x")), b"MATCH", b"none*"),
    (b"KEYS", b"k[9a]"),
]

FAMILIES = {"strings": STRINGS, "keys": STRINGS + KEYS * 2}

# What a sequence is checked by at its end, for each key.
QUESTIONS = [(b"GET",), (b"PTTL",)]


def sequence(random, length, templates):
    draw = Draw(random)
    commands = [fill_in(random.choice(templates), draw) for _ in range(length)]
    return commands + [question + (key,) for key in draw.keys for question in QUESTIONS]
