"""One worker of many does the job; if it dies, another takes over. The fence lets what the job writes to refuse an
earlier holder that has not noticed that its time is over."""

import lapse

clock = lapse.ManualClock()
db = lapse.open(clock=clock)

first, second = db.lock("report", ttl=10), db.lock("report", ttl=10)
assert first.acquire(wait=0) and not second.acquire(wait=0)
clock.advance(8)
assert first.renew()
clock.advance(10)  # the first worker hangs
assert second.acquire(wait=0)
assert second.fence > first.fence
assert not first.renew()  # it finds out,
assert not first.release()  # and cannot give back what is another's
assert second.release()

with db.lock("report", ttl=10) as lease:  # the usual way
    assert lease.held()
assert not lease.held()
