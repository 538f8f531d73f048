"""A cache in front of something slow. When many threads miss together, one of them computes."""

import threading
from datetime import timedelta

import lapse

clock = lapse.ManualClock()
db = lapse.open(clock=clock)
cache = db.family("cache", jitter_percent=10)  # so that entries do not all end at once
computed = []


@cache.memoize(ttl=timedelta(hours=1), name="page")
def page(user, name):
    computed.append(name)
    return {"title": name, "for": user}


threads = [threading.Thread(target=page, args=("ada", "home")) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert page("ada", "home") == {"title": "home", "for": "ada"}
assert computed == ["home"]

page.forget("ada", "home")
page("ada", "home")
assert len(computed) == 2

clock.advance(timedelta(minutes=66))  # an hour and ten percent
page("ada", "home")
assert len(computed) == 3
