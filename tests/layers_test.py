#!/usr/bin/python3
"""Layers are checked, not promised.

    layers_test.py [ROOT]      tests the checks themselves, then the tree at ROOT (default: this one)

What is checked, each offence printed as file:line:
  - A layer of src/ includes itself and the layers below it, nothing else (LAYERS, below).
  - lmdb.h is the engine's own business: nobody outside src/engine includes it, but the fault tests,
    which prove their harness on it, and the benchmark, which runs beside it.
  - A public header (include/lapse) needs the standard library and other public headers, nothing else.
  - The C interface needs only the public headers, as any program would (PUBLIC_ONLY, below).
  - Nothing under src/ but src/base asks the system for the time: time is handed in as a Clock.
"""

import pathlib
import re
import sys
import tempfile
import unittest

# base <- engine <- store <- formats, server, cli, bindings; and base <- resp <- server, cli.
LAYERS = {
    "base": set(),
    "engine": {"base"},
    "resp": {"base"},
    "store": {"base", "engine"},
    "formats": {"base", "engine", "store"},
    "server": {"base", "engine", "store", "formats", "resp"},
    "cli": {"base", "engine", "store", "formats", "resp", "server"},
    "bindings": {"base", "engine", "store"},
}

# Who may include lmdb.h: a list of path prefixes.
LMDB_USERS = ("src/engine/", "tests/fault/", "bench/rivals/")

# The layer that a public header speaks for; those not named here speak for the store.
PUBLIC_LAYER = {"lapse/status.h": "base", "lapse/clock.h": "base", "lapse/durability.h": "base",
                "lapse/process.h": "base",
                "lapse/kvstore.h": "bindings"}

# Who gets by with the public headers.
PUBLIC_ONLY = ("bindings/c/",)

CXX_HEADERS = set("""
    algorithm any array atomic barrier bit bitset cassert cctype cerrno cfloat charconv chrono cinttypes
    climits cmath compare complex concepts condition_variable cstdarg cstddef cstdint cstdio cstdlib
    cstring ctime deque exception filesystem forward_list fstream functional future initializer_list
    iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource
    mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
    semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string
    string_view syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map
    unordered_set utility valarray variant vector version
    """.split())
C_HEADERS = {name + ".h" for name in (
    "assert errno float inttypes limits math stdarg stdbool stddef stdint stdio stdlib string time"
).split()}
STANDARD_HEADERS = CXX_HEADERS | C_HEADERS

SOURCE_SUFFIXES = {".h", ".hpp", ".c", ".cc", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CLOCK = re.compile(
    r"\b(?:system_clock|steady_clock|high_resolution_clock|utc_clock|tai_clock|file_clock"
    r"|clock_gettime|gettimeofday|timespec_get|ftime)\b"
    r"|(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0|&)"
    r"|(?<![\w.>])clock\s*\(\s*\)")
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def without_comments(text, strings_too):
    """Blanks comments (and strings) but keeps the lines where they are."""

    def blank(match):
        found = match.group()
        if found[0] != "/" and not strings_too:
            return found
        return "\n" * found.count("\n") or " "

    return COMMENT_OR_STRING.sub(blank, text)


def layer_of_include(name):
    """The layer that an #include "name" reaches into, or None if it is not ours."""
    if name.startswith("lapse/"):
        return PUBLIC_LAYER.get(name, "store")
    first = name.split("/")[0]
    return first if "/" in name and first in LAYERS else None


class Source:
    """One file of the tree, and what is wrong with it."""

    def __init__(self, root, path):
        self.name = path.relative_to(root).as_posix()
        self.parts = self.name.split("/")
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.offences = []

    def layer(self):
        if self.parts[0] == "bindings":
            return "bindings"
        return self.parts[1] if self.parts[0] == "src" and len(self.parts) > 2 else None

    def is_public_header(self):
        return self.parts[:2] == ["include", "lapse"]

    def offend(self, line, what):
        self.offences.append(f"{self.name}:{line}: {what}")

    def check(self):
        if self.layer() not in LAYERS and self.parts[0] == "src":
            self.offend(1, f"'{self.layer() or self.name}' is no layer: give it a place in LAYERS")
        for number, line in enumerate(without_comments(self.text, False).split("\n"), 1):
            include = INCLUDE.match(line)
            if include:
                self.check_include(number, *include.groups())
        if self.parts[0] == "src" and self.layer() != "base":
            for number, line in enumerate(without_comments(self.text, True).split("\n"), 1):
                if clock := CLOCK.search(line):
                    self.offend(number, f"reads the system's clock ({clock.group().strip()}): "
                                        "take a Clock")
        return self.offences

    def check_include(self, line, quote, name):
        own = self.layer()
        if name.split("/")[-1] == "lmdb.h" and not self.name.startswith(LMDB_USERS):
            self.offend(line, "includes lmdb.h: only src/engine may")
        if self.is_public_header():
            if not (name in STANDARD_HEADERS if quote == "<" else name.startswith("lapse/")):
                self.offend(line, f"a public header includes {name}: only the standard library and "
                                  "lapse/ headers are there for users")
        elif own in LAYERS:
            target = layer_of_include(name)
            if target and self.name.startswith(PUBLIC_ONLY) and not name.startswith(("lapse/", "bindings/c/")):
                self.offend(line, f"includes {name}: only public headers and its own")
            elif target and target != own and target not in LAYERS[own]:
                self.offend(line, f"{own} includes {name}: {target} is not below {own}")


def check_tree(root):
    offences = []
    for top in ("include", "src", "bindings", "tests", "fuzz", "bench"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                offences += Source(root, path).check()
    return offences


class TheChecksThemselves(unittest.TestCase):
    """A check that never failed has not been tested."""

    def offences(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            return check_tree(pathlib.Path(folder))

    def assert_offence(self, name, text, line, word):
        found = self.offences(name, text)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{name}:{line}: "), found)
        self.assertIn(word, found[0])

    def assert_fine(self, name, text):
        self.assertEqual(self.offences(name, text), [])

    def test_every_pair_of_layers(self):
        for own, below in LAYERS.items():
            name = "bindings/python/a.cc" if own == "bindings" else f"src/{own}/deep/a.cc"
            for other in LAYERS:
                text = f'#include <map>\n#include "{other}/b.h"\n'
                if other == own or other in below:
                    self.assert_fine(name, text)
                else:
                    self.assert_offence(name, text, 2, f"{other} is not below {own}")

    def test_the_lines_of_the_design(self):
        lines = (["base", "engine", "store", "server"], ["base", "engine", "store", "cli"],
                 ["base", "engine", "store", "bindings"], ["base", "resp", "server"],
                 ["base", "resp", "cli"])
        for line in lines:
            for i, low in enumerate(line):
                for high in line[i + 1:]:
                    self.assertIn(low, LAYERS[high])
                    self.assertNotIn(high, LAYERS[low])
        self.assertFalse({"engine", "store"} & LAYERS["resp"])
        self.assertNotIn("resp", LAYERS["store"])

    def test_unknown_layer(self):
        self.assert_offence("src/misc/a.cc", "int a;\n", 1, "no layer")
        self.assert_offence("src/a.cc", "int a;\n", 1, "no layer")

    def test_public_headers_of_the_store_are_above_the_engine(self):
        self.assert_offence("src/engine/a.cc", '#include "lapse/store.h"\n', 1, "store is not below")
        self.assert_fine("src/engine/a.cc", '#include "lapse/status.h"\n')
        self.assert_fine("src/server/a.cc", '#include "lapse/store.h"\n')

    def test_the_c_interface_uses_public_headers_only(self):
        self.assert_fine("bindings/c/a.cc", '#include "lapse/store.h"\n#include "bindings/c/b.h"\n')
        for bad in ("store/scope.h", "base/try.h", "bindings/python/a.h"):
            self.assert_offence("bindings/c/a.cc", f'#include "{bad}"\n', 1, "only public headers")
        self.assert_offence("src/store/a.cc", '#include "lapse/kvstore.h"\n', 1, "bindings is not below")

    def test_lmdb(self):
        for name in ("src/store/a.cc", "src/base/a.h", "tests/engine/a.cc", "fuzz/a.cc"):
            self.assert_offence(name, '\n#  include <lmdb.h>\n', 2, "lmdb.h")
        for name in ("src/engine/local/a.cc", "tests/fault/a.cc", "bench/rivals/a.cc"):
            self.assert_fine(name, "#include <lmdb.h>\n")

    def test_public_headers(self):
        name = "include/lapse/a.h"
        self.assert_fine(name, '#include <map>\n#include <stdint.h>\n#include "lapse/b.h"\n')
        for bad in ('"base/clock.h"', '"b.h"', "<unistd.h>", "<sys/mman.h>", "<xxhash.h>"):
            self.assert_offence(name, f"#pragma once\n#include {bad}\n", 2, "public header")
        found = self.offences(name, "#include <lmdb.h>\n")
        self.assertEqual(len(found), 2, found)

    def test_clock(self):
        for bad in ("auto t = std::chrono::system_clock::now();", "auto t = steady_clock::now();",
                    "clock_gettime(CLOCK_MONOTONIC, &t);", "gettimeofday(&t, nullptr);",
                    "int64_t t = time(nullptr);", "t = std::time(NULL);", "::time(&t);",
                    "auto t = ::clock();"):
            self.assert_offence("src/store/a.cc", f"int a;\n{bad}\n", 2, "clock")
            self.assert_fine("src/base/a.cc", bad + "\n")
            self.assert_fine("tests/a.cc", bad + "\n")
        for fine in ("int64_t time(int a);", "a.time(0);", "a->clock();", "int runtime(0);",
                     "// steady_clock::now()", '"time(0)"', "std::chrono::milliseconds m;"):
            self.assert_fine("src/store/a.cc", fine + "\n")

    def test_comments_do_not_include(self):
        self.assert_fine("src/base/a.cc", '// #include "store/a.h"\n/*\n#include "store/a.h"\n*/\n')
        self.assert_offence("src/base/a.cc", '/* one\ntwo */\n#include "store/a.h"\n', 3, "store")

    def test_an_empty_tree_is_fine(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check_tree(pathlib.Path(folder)), [])


def main():
    own = unittest.TextTestRunner(verbosity=0).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(TheChecksThemselves))
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    if not (root / "src").is_dir():
        print(f"{root}: no src/ there")
        return 2
    offences = check_tree(root)
    for offence in offences:
        print(offence)
    return 0 if own.wasSuccessful() and not offences else 1


if __name__ == "__main__":
    sys.exit(main())
