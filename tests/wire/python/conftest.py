"""A server for each file of tests, and clients of it that find it empty."""

import os
import pathlib
import sys

import pytest
import redis

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "support"))
import live_server  # noqa: E402


@pytest.fixture(scope="module")
def port():
    with live_server.lapse(os.environ["LAPSE_BINARY"]) as port:
        yield port


@pytest.fixture
def connect(port):
    """Makes clients: connect(), connect(db=3), connect(decode_responses=False)."""
    clients = []

    def make(**options):
        client = redis.Redis(port=port, **{"decode_responses": True, "socket_timeout": 120, **options})
        clients.append(client)
        return client

    make().flushall()
    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(connect):
    return connect()


@pytest.fixture
def expired(client):
    """Returns when the server has told that a key expired; whatever else expires meanwhile is passed over."""
    client.config_set("notify-keyspace-events", "Ex")
    subscription = client.pubsub(ignore_subscribe_messages=True)
    subscription.psubscribe("__keyevent@*__:expired")
    subscription.get_message(timeout=60)

    def wait_for(key):
        for message in iter(lambda: subscription.get_message(timeout=60), None):
            if message["data"] == key:
                return
        raise AssertionError(f"no news of {key}")

    yield wait_for
    subscription.close()
    client.config_set("notify-keyspace-events", "")
