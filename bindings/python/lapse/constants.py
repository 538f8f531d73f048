"""The numbers of the compatible interface."""

from __future__ import annotations

JOURNAL_DELETE = 0
JOURNAL_WAL = 1

SYNC_OFF = 0
SYNC_NORMAL = 1
SYNC_FULL = 2

CHECKPOINT_PASSIVE = 0
CHECKPOINT_FULL = 1
CHECKPOINT_RESTART = 2
CHECKPOINT_TRUNCATE = 3

NO_TTL = -1
