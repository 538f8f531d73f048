"""At most so many calls a minute, for each caller."""

from datetime import timedelta

import lapse

clock = lapse.ManualClock()
db = lapse.open(clock=clock)


def handle(caller):
    try:
        with db.throttle(f"calls:{caller}", rate=3, per=timedelta(minutes=1)):
            return "200 OK"
    except lapse.ThrottledError as error:
        return f"429 Too Many Requests, Retry-After: {error.retry_after:.0f}"


assert [handle("ada") for _ in range(3)] == ["200 OK"] * 3
clock.advance(45)
assert handle("ada") == "429 Too Many Requests, Retry-After: 15"
assert handle("bob") == "200 OK"
clock.advance(15)
assert handle("ada") == "200 OK"
