"""Codes that work once, within five minutes, and not after three wrong guesses."""

from datetime import timedelta

import lapse

FIVE_MINUTES = timedelta(minutes=5)

clock = lapse.ManualClock()
db = lapse.open(clock=clock)


def send_code(user, code):
    db.pop(f"guesses:{user}", None)
    db.put(f"code:{user}", code, ttl=FIVE_MINUTES)


def redeem(user, guess):
    if db.incr(f"guesses:{user}", ttl=FIVE_MINUTES, max=3) is None:
        return False
    return db.compare_and_delete(f"code:{user}", guess)  # of two who try at once, one succeeds


send_code("ada", "123456")
assert not redeem("ada", "000000")
assert redeem("ada", "123456")
assert not redeem("ada", "123456")  # once is once

send_code("ada", "777777")
assert not any(redeem("ada", guess) for guess in "123")
assert not redeem("ada", "777777")  # too many guesses

send_code("ada", "424242")
clock.advance(FIVE_MINUTES)
assert not redeem("ada", "424242")  # too late
