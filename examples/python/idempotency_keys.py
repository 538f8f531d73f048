"""A request that is sent twice takes effect once: its key and its effect are written together, and for a day a
repetition gets the first one's answer."""

from datetime import timedelta

import lapse

clock = lapse.ManualClock()
db = lapse.open(clock=clock)


def pay(request, amount):
    with db.transaction():
        before = db.get(f"request:{request}")
        if before is not None:
            return before.decode()
        left = db.incr("balance", -amount, min=0)
        answer = "refused" if left is None else f"paid, {left} left"
        db.put(f"request:{request}", answer, ttl=timedelta(days=1))
        return answer


db["balance"] = "100"
assert pay("r1", 30) == "paid, 70 left"
assert pay("r1", 30) == "paid, 70 left"  # again: the same answer, and nothing more is taken
assert pay("r2", 90) == "refused"
assert db["balance"] == b"70"
clock.advance(timedelta(days=1))
assert "request:r1" not in db  # forgotten by itself
