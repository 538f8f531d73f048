"""memoize(): what a function returned, kept in a keyspace; and one run for all threads that miss together."""

from __future__ import annotations

import functools
import inspect
import json
import threading
from typing import Any, Callable, ParamSpec, Protocol, TypeVar

from . import _lapse
from .errors import InvalidArgumentError


P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Memoized(Protocol[P, R_co]):
    """What memoize makes of a function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The function's result, kept or new."""

    def key(self, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The key that its result is kept under."""

    def forget(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Drops what is kept. Whether there was anything."""


class Memoizer(Protocol):
    """What memoize() gives: the decorator."""

    def __call__(self, function: Callable[P, R]) -> Memoized[P, R]:
        """The function, memoized."""


class _Flight:
    """One run of a function, which others wait for."""

    def __init__(self) -> None:
        self.landed = threading.Event()
        self.stored = b""
        self.error: BaseException | None = None


class _Runs(threading.local):
    """How many memoized functions this thread is in the middle of."""

    count = 0


_runs = _Runs()


def _must_not_wait() -> bool:
    """Whether the run of another thread may itself be waiting for this one: for what it computes, or for the end of its
    transaction."""
    return _runs.count > 0 or _lapse._thread_is_in_transaction()


_PLAIN = (type(None), bool, int, float, str)
_NO_WORDS = "give memoize a key= for arguments other than None, bool, int, float, str, and lists, tuples and dicts of these"


def _text_of(value: Any) -> str:
    """As JSON, but for what JSON would make the same of different arguments: a tuple has brackets of its own, and what only
    passes for an int or a str, as an IntEnum does, is refused."""
    kind = type(value)
    if kind in _PLAIN:
        return json.dumps(value)
    if kind is list:
        return "[" + ",".join(map(_text_of, value)) + "]"
    if kind is tuple:
        return "(" + ",".join(map(_text_of, value)) + ")"
    if kind is not dict:
        raise TypeError(f"an argument is, or has in it, {kind.__name__}: {_NO_WORDS}")
    if not all(type(name) is str for name in value):
        raise TypeError(f"a dict among the arguments has keys that are no str: {_NO_WORDS}")
    return "{" + ",".join(f"{json.dumps(name)}:{_text_of(value[name])}" for name in sorted(value)) + "}"


def _key_text(*args: Any, **kwargs: Any) -> str:
    return _text_of([list(args), kwargs])


def _stored_form(value: Any, what: str) -> bytes:
    """As the store gives it back: so that a miss and a hit see the same."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{what} must return str or bytes, not {type(value).__name__}")


def _check_function(function: Any) -> None:
    if not callable(function):
        raise TypeError(f"memoize decorates a function, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("memoize is for plain functions: what an async one returns is yet to be awaited")


def _name_of(function: Any) -> str:
    """What its keys begin with. It has to be the same after a restart, and nobody else's."""
    name = f"{getattr(function, '__module__', '<none>')}.{getattr(function, '__qualname__', '<none>')}"
    if "<" in name:  # <lambda>, <locals>
        raise InvalidArgumentError(f"{name} is no name to keep results under, as others may have it too: "
                                   "give memoize a name=")
    return name


def memoizer(keyspace: Any, ttl: Any, name: str | None, key: Callable[..., Any] | None,
             dumps: Callable[[Any], Any] | None, loads: Callable[[bytes], Any] | None) -> Memoizer:
    if callable(ttl):
        raise TypeError("write @db.memoize(), with parentheses")
    encode = dumps or functools.partial(json.dumps, separators=(",", ":"))
    decode = loads or json.loads
    end_of_key = key or _key_text

    def decorate(function: Callable[..., Any]) -> Any:
        _check_function(function)
        prefix = (name or _name_of(function)).encode() + b":"
        flights: dict[bytes, _Flight] = {}
        guard = threading.Lock()

        def key_of(*args: Any, **kwargs: Any) -> bytes:
            return prefix + _stored_form(end_of_key(*args, **kwargs), "key")

        def compute(at: bytes, args: Any, kwargs: Any) -> bytes:
            _runs.count += 1
            try:
                stored = _stored_form(encode(function(*args, **kwargs)), "dumps")
            finally:
                _runs.count -= 1
            keyspace.put(at, stored, ttl)
            return stored

        def run(flight: _Flight, at: bytes, args: Any, kwargs: Any) -> Any:
            try:
                stored = keyspace.get(at)  # another flight may have landed between our look and our start
                if stored is None:
                    stored = compute(at, args, kwargs)
                flight.stored = stored
                return decode(stored)
            except BaseException as error:
                flight.error = error
                raise
            finally:
                with guard:
                    del flights[at]
                flight.landed.set()

        @functools.wraps(function)
        def memoized(*args: Any, **kwargs: Any) -> Any:
            at = key_of(*args, **kwargs)
            while True:
                stored = keyspace.get(at)
                if stored is not None:
                    return decode(stored)
                with guard:
                    own = at not in flights
                    flight = flights.setdefault(at, _Flight())
                if own:
                    return run(flight, at, args, kwargs)
                if _must_not_wait():
                    return decode(compute(at, args, kwargs))
                flight.landed.wait()
                if flight.error is None:
                    return decode(flight.stored)
                if isinstance(flight.error, Exception):
                    raise flight.error
                # Its thread was interrupted, which is no answer for this one: try again.

        def forget(*args: Any, **kwargs: Any) -> bool:
            return keyspace._get_and_delete(key_of(*args, **kwargs)) is not None

        memoized.key = key_of  # type: ignore[attr-defined]
        memoized.forget = forget  # type: ignore[attr-defined]
        return memoized

    return decorate
