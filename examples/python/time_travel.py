"""A family with history: what a key held when, the whole store of an earlier time, and the way back."""

from datetime import timedelta

import lapse

clock = lapse.ManualClock()
db = lapse.open(clock=clock)
prices = db.family("prices", history=100)

monday = clock.now()
prices.update({"tea": "3.00", "cake": "4.50"})
clock.advance(timedelta(days=1))
prices["tea"] = "3.20"
del prices["cake"]

assert prices["tea"] == b"3.20"
assert prices.get_at("tea", monday) == b"3.00"
assert [(past.value, past.ending) for past in prices.history("tea")] == [(b"3.20", None), (b"3.00", "overwritten")]

with db.snapshot(at=monday) as then:
    assert dict(then.family("prices")) == {b"cake": b"4.50", b"tea": b"3.00"}

prices.restore("cake", monday)  # back on the menu
assert prices["cake"] == b"4.50"
