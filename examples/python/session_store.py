"""Sessions that live as long as they are used."""

from datetime import timedelta

import lapse

HALF_AN_HOUR = timedelta(minutes=30)


class Sessions:
    def __init__(self, db):
        self._sessions = db.family("sessions", require_ttl=True)

    def begin(self, session, user):
        self._sessions.put(session, user, ttl=HALF_AN_HOUR)

    def user_of(self, session):
        """The user, and half an hour more; or None."""
        return self._sessions.touch(session, HALF_AN_HOUR)

    def end(self, session):
        self._sessions.pop(session, None)


clock = lapse.ManualClock()
sessions = Sessions(lapse.open(clock=clock))

sessions.begin("s1", "ada")
for request in range(4):
    clock.advance(timedelta(minutes=20))  # each request renews the session
    assert sessions.user_of("s1") == b"ada"
clock.advance(HALF_AN_HOUR)  # of silence
assert sessions.user_of("s1") is None

sessions.begin("s2", "bob")
sessions.end("s2")
assert sessions.user_of("s2") is None
