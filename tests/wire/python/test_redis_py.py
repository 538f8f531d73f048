"""redis-py, by its public interface: what people build with it runs on Lapse as it is."""

import threading

import pytest
import redis


def test_a_session_slides_while_it_is_used_and_dies_when_it_is_not(client, expired):
    client.setex("session:42", 30, "ada")
    assert client.expire("session:42", 1800)
    assert 30 < client.ttl("session:42") <= 1800
    assert client.getex("session:42", ex=3600) == "ada"
    assert 1800 < client.ttl("session:42") <= 3600
    assert client.getex("session:42", px=100) == "ada"
    expired("session:42")
    assert client.get("session:42") is None
    assert client.ttl("session:42") == -2


def test_a_cache_keeps_what_is_permanent(client, expired):
    client.set("short", "lived", px=50)
    client.set("page", "html", ex=100)
    assert client.persist("page")
    expired("short")
    assert client.mget("short", "page", "never") == [None, "html", None]
    assert client.ttl("page") == -1


def test_set_options(client):
    assert client.set("k", "1", nx=True) is True
    assert client.set("k", "2", nx=True) is None
    assert client.set("k", "3", xx=True, get=True) == "1"
    client.expire("k", 100)
    client.set("k", "4", keepttl=True)
    assert client.ttl("k") > 0
    client.set("k", "5")
    assert client.ttl("k") == -1


def test_only_one_gets_the_lease(connect):
    winners = []

    def try_for_it(name):
        if connect().set("lease", name, nx=True, ex=60):
            winners.append(name)

    threads = [threading.Thread(target=try_for_it, args=(f"worker-{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [connect().get("lease")] == winners


def test_counters_of_many_clients_lose_nothing(connect):
    def count():
        mine = connect()
        for _ in range(200):
            mine.incr("visits")

    threads = [threading.Thread(target=count) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert connect().get("visits") == "1000"


def test_a_long_pipeline(client):
    with client.pipeline(transaction=False) as pipe:
        for i in range(10_000):
            pipe.set(f"k{i}", i)
        for i in range(10_000):
            pipe.get(f"k{i}")
        replies = pipe.execute()
    assert replies[:10_000] == [True] * 10_000
    assert replies[10_000:] == [str(i) for i in range(10_000)]
    assert client.dbsize() == 10_000


def test_an_error_in_a_pipeline_stays_with_its_command(client):
    pipe = client.pipeline(transaction=False)
    pipe.set("k", "text").incr("k").get("k")
    done, error, value = pipe.execute(raise_on_error=False)
    assert (done, value) == (True, "text")
    assert isinstance(error, redis.ResponseError) and "not an integer" in str(error)


def test_multi_is_all_in_one_go(client):
    with client.pipeline() as pipe:
        pipe.set("a", 1).incrby("a", 41).get("a").delete("a").exists("a")
        assert pipe.execute() == [True, 42, "42", 1, 0]


def test_watch_notices_the_change_of_another(connect):
    mine, other = connect(), connect()
    mine.set("stock", 10)
    with mine.pipeline() as pipe:
        pipe.watch("stock")
        left = int(pipe.get("stock"))
        other.decr("stock")
        pipe.multi()
        pipe.set("stock", left - 1)
        with pytest.raises(redis.WatchError):
            pipe.execute()

    def take_one(pipe):
        left = int(pipe.get("stock"))
        pipe.multi()
        pipe.set("stock", left - 1)

    mine.transaction(take_one, "stock")
    assert mine.get("stock") == "8"


def test_watch_notices_expiry(connect, expired):
    mine = connect()
    mine.set("code", "1234", px=50)
    with mine.pipeline() as pipe:
        pipe.watch("code")
        expired("code")
        pipe.multi()
        pipe.set("used", "yes")
        with pytest.raises(redis.WatchError):
            pipe.execute()


def test_pub_sub(connect):
    publisher = connect()
    subscription = connect().pubsub()
    subscription.subscribe("news")
    subscription.psubscribe("w*")
    kinds = [subscription.get_message(timeout=60)["type"] for _ in range(2)]
    assert kinds == ["subscribe", "psubscribe"]
    assert publisher.publish("news", "first") == 1
    assert publisher.publish("weather", "rain") == 1
    assert publisher.publish("silence", "?") == 0
    got = [subscription.get_message(timeout=60) for _ in range(2)]
    assert [(m["type"], m["channel"], m["data"]) for m in got] == [
        ("message", "news", "first"),
        ("pmessage", "weather", "rain"),
    ]
    subscription.close()


def test_key_events_arrive_in_the_order_of_the_changes(connect):
    client = connect()
    client.config_set("notify-keyspace-events", "KEA")
    subscription = connect().pubsub(ignore_subscribe_messages=True)
    subscription.subscribe("__keyspace@0__:k")
    subscription.get_message(timeout=60)
    client.set("k", "v")
    client.expire("k", 100)
    client.persist("k")
    client.delete("k")
    events = [subscription.get_message(timeout=60)["data"] for _ in range(4)]
    assert events == ["set", "expire", "persist", "del"]
    subscription.close()
    client.config_set("notify-keyspace-events", "")


def test_scan_shows_all_that_stays_whatever_is_written_meanwhile(connect):
    client, writer = connect(), connect()
    client.mset({f"stay:{i}": i for i in range(1_000)})
    seen = []
    for n, key in enumerate(client.scan_iter(match="stay:*", count=17)):
        seen.append(key)
        writer.set(f"come:{n}", n)
        writer.set(f"a-come:{n}", n)
        writer.delete(f"come:{n - 5}")
    assert sorted(seen) == sorted(f"stay:{i}" for i in range(1_000))


def test_large_and_binary_values(connect):
    client = connect(decode_responses=False)
    large = bytes(range(256)) * (16 << 12)  # 16 MiB
    client.set(b"\x00\xff\r\n", large)
    assert client.get(b"\x00\xff\r\n") == large
    assert client.strlen(b"\x00\xff\r\n") == len(large)
    assert client.getrange(b"\x00\xff\r\n", 254, 257) == b"\xfe\xff\x00\x01"


def test_databases_are_apart(connect):
    connect(db=0).set("k", "zero")
    third = connect(db=3)
    assert third.get("k") is None
    third.set("k", "three")
    assert connect(db=0).get("k") == "zero"
    assert (connect(db=0).dbsize(), third.dbsize()) == (1, 1)
    with pytest.raises(redis.ResponseError, match="out of range"):
        connect(db=16).ping()


def test_what_monitoring_asks_for(client):
    client.set("k", "v", ex=100)
    info = client.info()
    assert info["redis_version"].startswith("7.")
    assert info["db0"]["keys"] == 1 and info["db0"]["expires"] == 1
    assert client.config_get("maxclients") == {"maxclients": "10000"}
    client.client_setname("tester")
    assert client.client_getname() == "tester"
    assert client.command_count() > 100
    assert client.object("encoding", "k")
    assert client.memory_usage("k") > 0
    assert client.time()[0] > 1_600_000_000


def test_types_that_are_not_there_are_a_clean_error(client):
    with pytest.raises(redis.ResponseError):
        client.lpush("list", "x")
    with pytest.raises(redis.ResponseError):
        client.hset("hash", "field", "x")
    assert client.ping()


def test_a_family_remembers(client, port):
    client.execute_command("FAMILY CREATE", "docs", "history-keep-last", "10")
    docs = redis.Redis(port=port, decode_responses=True, single_connection_client=True)
    docs.execute_command("SELECT", "docs")
    docs.set("motto", "first")
    docs.set("motto", "second")
    docs.delete("motto")
    newest_first = [dict(zip(entry[::2], entry[1::2])) for entry in docs.execute_command("HISTORY", "motto")]
    assert [entry["value"] for entry in newest_first] == ["second", "first"]
    assert [entry["ending"] for entry in newest_first] == ["erased", "overwritten"]
    assert docs.execute_command("WHY", "motto")[1] == "erased"
    docs.close()
    client.execute_command("FAMILY DROP", "docs")
