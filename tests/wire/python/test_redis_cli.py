"""redis-cli and redis-benchmark, as people use them at a terminal."""

import subprocess

import pytest


@pytest.fixture
def cli(client, port):
    def run(*arguments, stdin=None):
        command = ["redis-cli", "-p", str(port), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def test_one_command(cli):
    assert cli("SET", "greeting", "hello", "EX", "100") == "OK"
    assert cli("GET", "greeting") == "hello"
    assert cli("--no-raw", "TTL", "nothing") == "(integer) -2"


def test_lines_from_a_file(cli):
    assert cli(stdin="SET a 1\nINCR a\nGET a\n").split("\n") == ["OK", "2", "2"]


def test_resp3(cli):
    cli("-3", "FAMILY", "CREATE", "past", "history", "yes")
    assert cli("-3", "--json", "PURGE") == '{"removed":0,"more-due":false}'
    assert '"ending":"visible"' in cli("-3", "--json", stdin="SELECT past\nSET k v\nHISTORY k\n")
    cli("FAMILY", "DROP", "past")


def test_scan_and_big_keys(cli, client):
    client.mset({f"user:{i}": "x" * i for i in range(100)})
    assert len(cli("--scan", "--pattern", "user:1*").split("\n")) == 11
    biggest = [line for line in cli("--bigkeys").split("\n") if line.startswith("Biggest string")]
    assert "user:99" in biggest[0] and biggest[0].endswith("has 99 bytes")


def test_mass_insertion(cli):
    commands = "".join(f"SET key:{i} {i}\r\n" for i in range(5_000))
    assert "errors: 0, replies: 5000" in cli("--pipe", stdin=commands)
    assert cli("DBSIZE") == "5000"


def test_help_texts_come_from_the_server(cli):
    docs = cli("COMMAND", "DOCS", "getat")
    assert "Returns the value that a key had at a moment." in docs


def test_info_and_the_server_section(cli):
    assert "redis_version:7." in cli("INFO", "server")


def test_benchmark(port):
    command = "redis-benchmark -p {} -t set,get,incr,mset,ping_inline,ping_mbulk -n 2000 -r 1000 -P 16 -c 20 --csv"
    done = subprocess.run(command.format(port).split(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    names = [line.split(",")[0].strip('"') for line in done.stdout.strip().split("\n")]
    for name in ("SET", "GET", "INCR", "MSET (10 keys)"):
        assert name in names, done.stdout
    assert "rror" not in done.stdout + done.stderr
