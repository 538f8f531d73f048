"""Raw connections to servers that speak RESP.

Nothing here understands a reply beyond where it ends: tests compare bytes."""

import socket

PATIENCE_S = 60  # for a reply; generous, for sanitizers on a busy machine


class NoReply(Exception):
    """The server closed the connection, or kept silent."""


class Connection:
    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def close(self):
        self._socket.close()

    def send(self, *commands):
        self._socket.sendall(b"".join(encode(command) for command in commands))

    def receive(self):
        """The bytes of one reply, or of one message."""
        try:
            end = self._end_of_reply(0)
        except (OSError, NoReply) as error:
            raise NoReply(str(error) or "closed") from error
        reply, self._received = self._received[:end], self._received[end:]
        return reply

    def ask(self, *command):
        self.send(command)
        return self.receive()

    def _need(self, size):
        while len(self._received) < size:
            more = self._socket.recv(1 << 16)
            if not more:
                raise NoReply("closed")
            self._received += more

    def _end_of_line(self, begin):
        while (end := self._received.find(b"\r\n", begin)) < 0:
            self._need(len(self._received) + 1)
        return end

    def _end_of_reply(self, begin):
        line_end = self._end_of_line(begin)
        kind, rest = self._received[begin : begin + 1], self._received[begin + 1 : line_end]
        end = line_end + 2
        if kind in b"$=!":
            if int(rest) >= 0:
                end += int(rest) + 2
                self._need(end)
        elif kind in b"*~>%|":
            for _ in range(int(rest) * (2 if kind in b"%|" else 1)):
                end = self._end_of_reply(end)
        return end


def encode(command):
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
