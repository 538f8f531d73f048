"""Stores and clocks for the tests. Nothing sleeps: time is turned by hand."""

import lapse
import pytest


@pytest.fixture
def clock():
    return lapse.ManualClock()


@pytest.fixture
def kv(clock):
    with lapse.KVStore(clock=clock) as store:
        yield store


@pytest.fixture(params=["store", "family"])
def kv_keys(request, kv):
    """What a store and a family can do alike."""
    return kv if request.param == "store" else kv.create_column_family("users")


@pytest.fixture
def db(clock):
    with lapse.open(clock=clock) as store:
        yield store


@pytest.fixture
def past(clock):
    with lapse.open(clock=clock, history=True) as store:
        yield store
