"""The limits that need sockets: each is met by a client that goes beyond it, beside one that does not and must not notice."""

import os
import resource
import socket
import tempfile
import time
import unittest

from serving import IMPATIENT, Client, Gone, request, serving, turns_of_a_resting_server, until


class Limits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lapse-limits-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def serve(self, *settings, **options):
        context = serving(self.folder, *settings, **options)
        server = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return server

    def client(self, server, **options):
        client = Client(server, **options)
        self.addCleanup(client.close)
        return client

    def test_one_client_too_many_is_told_so(self):
        server = self.serve("--maxclients", "2")
        first = self.client(server)
        self.assertEqual("+PONG", first("PING"))
        second = self.client(server)
        self.assertEqual("+PONG", second("PING"))
        third = self.client(server)
        self.assertEqual("-ERR max number of clients reached", third.reply())
        self.assertTrue(third.is_gone())
        second.close()
        self.assertEqual("+PONG", first("PING"))
        fourth = self.client(server)
        self.assertEqual("+PONG", fourth("PING"))

    def test_without_file_descriptors_clients_wait_and_the_loop_rests(self):
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))

        server = self.serve(*IMPATIENT, preexec_fn=few_files)  # too few for maxclients: that is lowered to what there is
        clients = [self.client(server) for _ in range(30)]
        served = [client for client in clients if self.is_served(client)]
        self.assertGreaterEqual(len(served), 10)
        self.assertLess(turns_of_a_resting_server(served[0], served[1]), 200)
        self.assertEqual("+PONG", served[0]("PING"))
        self.assertRegex(served[0]("CONFIG", "SET", "maxclients", "1000"), "^-ERR .*try with 16$")

    def test_maxclients_gets_its_file_descriptors_also_later(self):
        def few_files():
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, most))

        server = self.serve("--maxclients", "20", preexec_fn=few_files)
        self.assertEqual("+OK", self.client(server)("CONFIG", "SET", "maxclients", "200"))
        clients = [self.client(server) for _ in range(150)]
        self.assertEqual(["+PONG"] * 150, [client("PING") for client in clients])

    @staticmethod
    def is_served(client):
        try:
            return client("PING") == "+PONG"
        except Gone:
            return False

    def test_a_client_that_never_reads_is_dropped(self):
        server = self.serve("--client-output-buffer-limit", "normal", "4mb", "0", "0")
        other = self.client(server)
        self.assertEqual("+OK", other("SET", "key", b"x" * 100_000))
        deaf = self.client(server, receive_buffer=4096)
        with self.assertRaises(Gone):
            for _ in range(1000):
                deaf.send(b"GET key\r\n" * 10_000)
        self.assertEqual("+PONG", other("PING"))
        self.assertLess(server.resident_bytes(), 1 << 30)

    def with_a_deaf_client(self, limit):
        """One that has asked for more than `limit` and takes nothing, and another on its server."""
        server = self.serve("--client-output-buffer-limit", "normal", limit, "0", "0", "--half-command-timeout", "1")
        other = self.client(server)
        self.assertEqual("+OK", other("SET", "key", b"x" * 100_000))
        deaf = self.client(server, receive_buffer=4096)
        deaf.send(b"GET key\r\n" * 1000)
        return deaf, other

    def test_a_client_that_takes_nothing_while_its_commands_wait_is_dropped(self):
        _, other = self.with_a_deaf_client("4mb")
        until(lambda: "\nconnected_clients:1\r" in other("INFO", "clients").decode())
        self.assertEqual("+PONG", other("PING"))

    def test_a_client_that_takes_nothing_is_dropped_though_it_goes_on_sending(self):
        deaf, other = self.with_a_deaf_client("40mb")

        def goes_on_sending():
            deaf.send(b"\r\n")  # little, so that it is not for the amount
            self.assertEqual("+PONG", other("PING"))

        with self.assertRaises(Gone):
            until(goes_on_sending)
        self.assertIn(b"\nclient_output_buffer_limit_disconnections:0\r", other("INFO", "stats"))

    def test_a_subscriber_that_is_over_the_soft_limit_for_too_long_is_dropped(self):
        soft_seconds = 3
        server = self.serve("--client-output-buffer-limit", "pubsub", "0", "1mb", str(soft_seconds))
        other = self.client(server)
        slow = self.client(server, receive_buffer=4096)
        slow("SUBSCRIBE", "news")
        began_at = time.monotonic()
        for _ in range(100):
            other("PUBLISH", "news", b"x" * 100_000)
        clients = other("INFO", "clients").decode()
        if time.monotonic() - began_at < soft_seconds:
            self.assertIn("\nconnected_clients:2\r", clients, "not at once")
        until(lambda: "\nconnected_clients:1\r" in other("INFO", "clients").decode())
        self.assertIn(b"\nclient_output_buffer_limit_disconnections:1\r", other("INFO", "stats"))

    def test_a_client_that_reads_may_ask_for_any_amount_in_one_go(self):
        server = self.serve("--client-output-buffer-limit", "normal", "10mb", "0", "0")
        client = self.client(server)
        self.assertEqual("+OK", client("SET", "key", b"x" * (1 << 20)))
        client.send(b"GET key\r\n" * 100)
        self.assertEqual([1 << 20] * 100, [len(client.reply()) for _ in range(100)])
        self.assertEqual("+PONG", client("PING"))

    def test_a_client_may_send_all_it_has_before_it_reads(self):
        server = self.serve("--client-output-buffer-limit", "normal", "40mb", "0", "0")
        client = self.client(server, receive_buffer=4096)
        self.assertEqual("+OK", client("SET", "key", b"x" * 1000))
        client.send(b"GET key\r\n" * 1_000_000)
        self.assertEqual([1000] * 100, [len(client.reply()) for _ in range(100)])

    def test_an_idle_client_is_dropped(self):
        server = self.serve("--timeout", "1")
        idle = self.client(server)
        self.assertEqual("+PONG", idle("PING"))
        self.assertTrue(idle.is_gone())
        self.assertEqual("+PONG", self.client(server)("PING"))

    def test_half_a_command_is_not_waited_for_for_ever(self):
        server = self.serve("--half-command-timeout", "1")
        whole = self.client(server)
        self.assertEqual("+PONG", whole("PING"))
        half = self.client(server)
        half.send(b"*2\r\n$3\r\nGET\r\n$3\r\nke")
        self.assertTrue(half.is_gone())
        self.assertEqual("+PONG", whole("PING"))

    def test_malformed_protocol_is_answered_and_closed(self):
        server = self.serve()
        for garbage in (b"*1\r\n$x\r\n", b"*99999999999\r\n", b"'\r\n", b"*1\r\n:1\r\n", b"a" * 70_000):
            client = self.client(server)
            client.send(garbage)
            self.assertRegex(client.reply(), "^-ERR Protocol error: ")
            self.assertTrue(client.is_gone())
        self.assertEqual("+PONG", self.client(server)("PING"))

    def test_random_bytes_are_survived(self):
        server = self.serve()
        for _ in range(200):
            client = self.client(server)
            try:
                client.send(os.urandom(1000))
            except Gone:
                pass
            client.close()
        self.assertEqual("+PONG", self.client(server)("PING"))

    def test_a_half_closed_client_gets_its_replies(self):
        server = self.serve()
        client = self.client(server)
        client.send(request("PING") * 3)
        client.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(["+PONG"] * 3, [client.reply() for _ in range(3)])
        self.assertTrue(client.is_gone())

    def test_a_half_closed_client_that_takes_nothing_is_dropped(self):
        server = self.serve(*IMPATIENT)
        other = self.client(server)
        self.assertEqual("+OK", other("SET", "key", b"x" * (10 << 20)))
        client = self.client(server, receive_buffer=4096)
        client.send(request("GET", "key"))
        client.socket.shutdown(socket.SHUT_WR)
        until(lambda: "\nconnected_clients:1\r" in other("INFO", "clients").decode())

    def test_what_a_client_sent_before_it_hung_up_is_run_to_the_end(self):
        def commands(name):
            return b"".join(request("SET", f"{name}:{i}:{j}", b"x" * size)
                            for i in range(50) for j, size in enumerate((100_000, 10, 10)))

        for durability in ("normal", "full"):
            with serving(self.folder, "--durability", durability) as server:
                with Client(server) as patient:
                    patient.send(request("FLUSHALL") + commands("patient"))
                    patient.socket.shutdown(socket.SHUT_WR)
                    self.assertEqual(["+OK"] * 151, [patient.reply() for _ in range(151)])
                    self.assertTrue(patient.is_gone())
                with Client(server) as silent:
                    silent.send(request("CLIENT", "REPLY", "OFF") + commands("silent"))
                with Client(server) as watching:
                    until(lambda client=watching: client("EXISTS", "silent:49:2") == ":1")
                    self.assertEqual(":300", watching("DBSIZE"))

    def test_what_clients_sent_before_they_hung_up_is_run_while_others_write(self):
        server = self.serve("--durability", "full")
        busy = self.client(server)
        for i in range(300):
            busy.send(request("INCR", "busy") * 10)
            with Client(server) as brief:
                brief.send(request("SET", f"brief:{i}", "x"))
        self.assertEqual([f":{i + 1}" for i in range(3_000)], [busy.reply() for _ in range(3_000)])
        until(lambda: busy("DBSIZE") == ":301")

    def test_clients_that_vanish_in_the_middle_are_forgotten(self):
        server = self.serve()
        for i in range(100):
            client = Client(server)
            client.send(request("SET", "key", b"x" * 10_000) * 5 + b"*3\r\n$3\r\nSE")
            if i % 2:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
            client.close()
        self.assertEqual("+PONG", self.client(server)("PING"))

    def test_a_unix_socket_takes_nobodys_place(self):
        path = os.path.join(self.folder, "socket")
        with open(path, "w") as file:
            file.write("precious")
        with self.assertRaises(RuntimeError):
            self.serve("--unixsocket", path)
        with open(path) as file:
            self.assertEqual("precious", file.read())
        os.remove(path)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            with self.assertRaises(RuntimeError):
                self.serve("--unixsocket", path)
            self.assertTrue(os.path.exists(path))

    def test_a_unix_socket_that_was_left_behind_is_replaced_and_removed_at_the_end(self):
        path = os.path.join(self.folder, "socket")
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
        server = self.serve("--unixsocket", path)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b"PING\r\n")
            self.assertEqual(b"+PONG\r\n", client.recv(100))
        self.assertEqual(0, server.terminate()[0])
        self.assertFalse(os.path.exists(path))

    def test_a_unix_socket_has_the_permissions_that_were_asked_for(self):
        path = os.path.join(self.folder, "socket")
        self.serve("--unixsocket", path, "--unixsocketperm", "700")
        self.assertEqual(0o700, os.stat(path).st_mode & 0o777)

    def test_a_unix_socket_that_has_another_owner_by_now_is_left(self):
        path = os.path.join(self.folder, "socket")
        server = self.serve("--unixsocket", path)
        os.remove(path)
        with open(path, "w"):
            pass
        self.assertEqual(0, server.terminate()[0])
        self.assertTrue(os.path.exists(path))

    def test_a_star_is_every_address(self):
        for bind in (["*"], ["127.0.0.1", "-::*"]):
            server = self.serve("--bind", *bind, "--requirepass", "secret")
            self.assertEqual("-NOAUTH Authentication required.", self.client(server)("GET", "key"))
            if self.has_ipv6():
                with socket.create_connection(("::1", server.port)) as six:
                    six.sendall(b"GET key\r\n")
                    self.assertEqual(b"-NOAUTH Authentication required.\r\n", six.recv(100))
            server.terminate()

    @staticmethod
    def has_ipv6():
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
                return True
        except OSError:
            return False

    def test_no_public_address_without_a_password(self):
        with self.assertRaises(RuntimeError):
            self.serve("--bind", "0.0.0.0")
        server = self.serve("--bind", "0.0.0.0", "--requirepass", "secret")
        self.assertEqual("-NOAUTH Authentication required.", self.client(server)("GET", "key"))


if __name__ == "__main__":
    unittest.main()
