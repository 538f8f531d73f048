"""Which asyncio task is running: those of one thread must not share a transaction without knowing."""

from __future__ import annotations

import itertools
import sys
import weakref
from typing import Any

_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_next_number = itertools.count(1)


def current_task_number() -> int:
    """A number that no other task ever has; 0 outside of tasks. The C++ part asks."""
    asyncio: Any = sys.modules.get("asyncio")  # who has not imported it has no task
    running_loop = getattr(asyncio, "_get_running_loop", None)
    if running_loop is None or running_loop() is None:
        return 0
    task = asyncio.current_task()
    if task is None:
        return 0
    if task not in _numbers:
        _numbers[task] = next(_next_number)
    return _numbers[task]
