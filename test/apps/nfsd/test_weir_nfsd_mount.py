#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the MOUNT service of weir-nfsd over TCP, as a peer sees it: valid and invalid calls,
records in pieces, and peers that try to block the service."""
import contextlib
import os
import re
import socket
import struct
import sys
import tempfile
import unittest

from nfs_tools import Server, unique
from rpc_tools import opaque, word

SERVER, = map(os.path.abspath, sys.argv[1:2])
del sys.argv[1:2]
MOUNT, LAST = 100005, 0x80000000
NULL, MNT, DUMP, UMNT, UMNTALL, EXPORT = range(6)
CONNS = 64  # ONCRPC_SERVER_CONNS_MAX
CONNS_PEER = 16  # ONCRPC_SERVER_CONNS_PEER
PATIENCE = 60


def call(proc, args=b'', *, xid=7, prog=MOUNT, vers=3, rpcvers=2, flavor=0, direction=0):
    return word(xid, direction, rpcvers, prog, vers, proc, flavor, 0, 0, 0) + args


def record(body):
    return word(LAST | len(body)) + body


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as unused:
        return unused.getsockname()[1]


class Mount(unittest.TestCase):
    def setUp(self):
        self.port = free_port()
        profile = tempfile.NamedTemporaryFile('w', suffix='.ini')
        self.addCleanup(profile.close)
        profile.write('[engine]\nidle = sleep\n') # no engine has calls, so that it need not poll
        profile.flush()
        self.server = Server(SERVER, '--driver', 'shm', '--listen', unique('mountd'), '--export',
                             '/a=ram:4m', '--no-rpcbind', '--mount-port', str(self.port),
                             '--profile', profile.name, '--foreground', ready='export /a handle ')
        self.addCleanup(self.server.stop)
        self.handle = bytes.fromhex(self.server.line.split()[-1])

    def connect(self, source='127.0.0.1'):
        conn = socket.create_connection(('127.0.0.1', self.port), timeout=PATIENCE,
                                        source_address=(source, 0))
        self.addCleanup(conn.close)
        return conn

    def read(self, conn, n):
        data = b''
        while len(data) < n:
            more = conn.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def reply(self, conn):
        mark, = struct.unpack('>I', self.read(conn, 4))
        self.assertTrue(mark & LAST)
        return self.read(conn, mark & ~LAST)

    def ask(self, *args, **kwargs):
        conn = self.connect()
        conn.sendall(record(call(*args, **kwargs)))
        return self.reply(conn)

    def accepted(self, status, results=b'', xid=7):
        return word(xid, 1, 0, 0, 0, status) + results

    def mounts(self):
        granted = self.accepted(0, word(0) + opaque(self.handle) + word(2, 1, 0))
        self.assertEqual(self.ask(MNT, opaque(b'/a')), granted)

    def is_closed(self, conn):
        with contextlib.suppress(ConnectionError):
            return conn.recv(1) == b''
        return True

    def memory(self):
        with open(f'/proc/{self.server.process.pid}/status', encoding='ascii') as file:
            return int(re.search(r'VmRSS:\s*(\d+)', file.read())[1])


class Calls(Mount):
    def test_each_procedure(self):
        self.assertEqual(self.ask(NULL), self.accepted(0))
        self.mounts()
        entry = self.ask(DUMP)
        self.assertIn(opaque(b'/a') + word(0), entry)
        self.assertIn(b'127.0.0.1', entry)
        self.assertEqual(self.ask(UMNT, opaque(b'/a/')), self.accepted(0))
        self.assertEqual(self.ask(DUMP), self.accepted(0, word(0)))
        self.mounts()
        self.assertEqual(self.ask(UMNTALL), self.accepted(0))
        self.assertEqual(self.ask(DUMP), self.accepted(0, word(0)))
        self.assertEqual(self.ask(EXPORT), self.accepted(0, word(1) + opaque(b'/a') + word(0, 0)))

    def test_paths_that_are_none(self):
        for path, status in ((b'/b', 2), (b'', 2), (b'/a/..', 2), (b'/' + b'a' * 1023, 2)):
            with self.subTest(path=path[:10]):
                self.assertEqual(self.ask(MNT, opaque(path))[:28],
                                 self.accepted(0, word(status))[:28])
        for args in (opaque(b'/' + b'a' * 1024), b'', word(5), word(0xffffffff), opaque(b'/a\0')):
            with self.subTest(args=args[:10]):
                self.assertEqual(self.ask(MNT, args), self.accepted(4))

    def test_calls_that_are_refused(self):
        self.assertEqual(self.ask(6), self.accepted(3))
        self.assertEqual(self.ask(NULL, prog=100003), self.accepted(1))
        self.assertEqual(self.ask(NULL, vers=1), self.accepted(2, word(3, 3)))
        self.assertEqual(self.ask(NULL, flavor=6), word(7, 1, 1, 1, 2))
        self.assertEqual(self.ask(NULL, rpcvers=3), word(7, 1, 1, 0, 2, 2))

    def test_what_is_no_call_ends_the_connection(self):
        for data in (record(b''), record(b'1234'), record(call(NULL, direction=1)),
                     record(call(NULL)[:-4]), word(4097), word(LAST | 0x7fffffff), word(0) * 1024,
                     record(word(7, 0, 2, MOUNT, 3, 0, 0, 401) + bytes(500))):
            with self.subTest(data=data[:16]):
                conn = self.connect()
                conn.sendall(data)
                self.assertTrue(self.is_closed(conn))
        self.mounts()

    def test_a_record_in_pieces(self):
        body = call(MNT, opaque(b'/a'))
        whole = b''.join(word(1) + body[i:i + 1] for i in range(len(body))) + word(0, LAST)
        conn = self.connect()
        for i in range(len(whole)):
            conn.sendall(whole[i:i + 1])
        self.assertEqual(self.reply(conn)[:28], self.accepted(0, word(0)))

    def test_several_at_once(self):
        conn = self.connect()
        conn.sendall(b''.join(record(call(NULL, xid=xid)) for xid in range(300)))
        conn.shutdown(socket.SHUT_WR)
        for xid in range(300):
            self.assertEqual(self.reply(conn), self.accepted(0, xid=xid))
        self.assertTrue(self.is_closed(conn))


class Hostile(Mount):
    def are_served(self, conns):
        for conn in conns:
            conn.sendall(record(call(NULL)))
        for conn in conns:
            self.assertEqual(self.reply(conn), self.accepted(0))

    def test_more_quiet_connections_than_there_may_be(self):
        conns = [self.connect(f'127.0.0.{2 + i}') for i in range(CONNS + 20)]
        self.mounts()
        # The connections that had been silent for the longest time were closed, the oldest first.
        self.are_served(conns[21:])
        for conn in conns[:21]:
            self.assertTrue(self.is_closed(conn))

    def test_an_address_displaces_its_own_connections(self):
        others = [self.connect('127.0.0.2')
                  for _ in range(CONNS_PEER)] + [self.connect('127.0.0.3')]
        conns = [self.connect() for _ in range(CONNS + 20)]
        self.mounts()
        self.are_served(others)
        self.are_served(conns[1 - CONNS_PEER:])
        for conn in conns[:1 - CONNS_PEER]:
            self.assertTrue(self.is_closed(conn))

    def test_one_more_displaces_the_address_that_has_the_most(self):
        # The connections that were silent for longest belong to addresses with one connection each.
        single = [self.connect(f'127.0.1.{1 + i}') for i in range(15)]
        many = [self.connect(f'127.0.0.{2 + i // CONNS_PEER}') for i in range(CONNS - len(single))]
        self.mounts()
        self.are_served(single + many[1:])
        self.assertTrue(self.is_closed(many[0]))

    def test_pieces_of_records_hold_nobody_up(self):
        quiet = []
        for piece in (b'\x80', word(LAST | 60) + b'abcd', word(4), word(LAST)[:3],
                      record(call(NULL)) + b'\x80'):
            conn = self.connect()
            conn.sendall(piece)
            quiet.append(conn)
        self.mounts()
        self.assertEqual(self.reply(quiet[-1]), self.accepted(0))
        # The connections stay open until they are closed for silence.
        for conn in quiet:
            conn.setblocking(False)
            with self.assertRaises(BlockingIOError):
                conn.recv(1)
            conn.settimeout(PATIENCE)
        for conn in quiet:
            self.assertTrue(self.is_closed(conn))
        self.mounts()

    def test_a_peer_that_takes_no_replies(self):
        for i in range(64):
            self.ask(MNT, opaque(b'/a' + b'/' * i))
        conn = self.connect()
        before = self.memory()
        conn.settimeout(1)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while True:
                conn.sendall(record(call(EXPORT)) * 10)
        self.mounts()
        self.assertLess(self.memory() - before, 4096)
        conn.settimeout(PATIENCE)
        with contextlib.suppress(ConnectionError):
            while conn.recv(1 << 20):
                pass
        self.mounts()

    def test_a_piece_of_a_record_does_not_delay_the_end(self):
        conn = self.connect()
        conn.sendall(word(LAST | 60) + b'abcd')
        self.mounts()
        self.server.process.terminate()
        # The 35 s of libtirpc itself would exceed this.
        self.server.process.communicate(timeout=20)
        self.assertEqual(self.server.process.returncode, 0)


if __name__ == '__main__':
    unittest.main(verbosity=1)
