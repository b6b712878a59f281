#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the entries that weir-nfsd registers with rpcbind: next to other servers, and with an
rpcbind that is silent, missing, or refuses."""
import os
import signal
import socket
import sys
import tempfile
import time
import unittest

from nfs_tools import Server, unique
from rpc_tools import Daemon, opaque, word

SERVER, = map(os.path.abspath, sys.argv[1:2])
del sys.argv[1:2]
MOUNT, NFS3, RPCBIND = 100005, 100003, 100000
SET, UNSET, DUMP = 1, 2, 4
# If the tests run under nohup, programs would inherit that this signal is ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as unused:
        return unused.getsockname()[1]


def uaddrs(port):
    return {b'tcp': f'127.0.0.1.{port >> 8}.{port & 255}'.encode()}


class Rpcbind(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'rpcbind.sock')
        self.said = os.path.join(folder.name, 'said')
        self.entries, self.is_silent, self.takes = {}, False, True
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen()
        self.daemon = Daemon(self.answer, listener)
        self.addCleanup(self.daemon.close)

    def answer(self, _, version, proc, args):
        """Answers a call. A SET of an existing entry does not change it, as with rpcbind."""
        if self.is_silent:
            return None
        if proc == DUMP:
            return b''.join(word(1, prog, vers) + opaque(netid) + opaque(uaddr) +
                            opaque(b'superuser')
                            for (prog, vers, netid), uaddr in self.entries.items()) + word(0)
        key, uaddr = (args.word(), args.word(), args.opaque()), args.opaque()
        self.assertEqual(version, 3)
        if proc == SET and self.takes:
            return word(int(self.entries.setdefault(key, uaddr) == uaddr))
        if proc == UNSET:
            return word(int(self.entries.pop(key, None) is not None))
        return word(0)

    def start(self, port, *options):
        stderr = os.open(self.said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        saved = os.dup(2)
        os.dup2(stderr, 2)
        os.close(stderr)
        try:
            server = Server(SERVER, '--driver', 'shm', '--listen', unique('rpcbind'), '--export',
                            '/a=ram:4m', '--rpcbind', self.path, '--foreground',
                            *(['--mount-port', str(port)] if port else []), *options,
                            ready='export /a handle ')
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        self.addCleanup(server.stop)
        return server

    def notices(self):
        with open(self.said, encoding='utf-8') as file:
            return [line for line in file if 'rpcbind' in line]

    def mounts(self):
        return {netid: uaddr for (prog, vers, netid), uaddr in self.entries.items()
                if (prog, vers) == (MOUNT, 3)}

    def test_mount_and_nothing_else_over_shm(self):
        port = free_port()
        server = self.start(port)
        self.assertEqual(self.mounts(), uaddrs(port))
        self.assertEqual(len(self.entries), 1)
        server.stop()
        self.assertEqual((self.entries, self.notices()), ({}, []))

    def test_a_hangup_withdraws_nothing(self):
        server = self.start(free_port())
        self.assertEqual(len(self.entries), 1)
        server.process.send_signal(signal.SIGHUP)
        server.stop()
        sets = [call for call in self.daemon.calls if call[2] == SET]
        self.assertEqual((len(sets), self.entries), (1, {}))

    def test_nothing_to_register(self):
        for options in ((), ('--no-mount',)):
            self.start(None, *options).stop()
        self.start(free_port(), '--no-rpcbind').stop()
        self.assertEqual((self.daemon.calls, self.notices()), ([], []))

    def test_a_second_server_leaves_the_first_ones(self):
        port = free_port()
        first = self.start(port)
        second = self.start(free_port())
        self.assertEqual(self.mounts(), uaddrs(port))
        self.assertEqual(len(self.notices()), 1)
        second.stop()
        self.assertEqual(self.mounts(), uaddrs(port))
        first.stop()
        self.assertEqual(self.entries, {})

    def test_what_a_dead_server_left_is_replaced(self):
        gone, port = free_port(), free_port()
        for left in (gone, port):
            with self.subTest(left=left):
                self.entries.update({(MOUNT, 3, netid): uaddr
                                     for netid, uaddr in uaddrs(left).items()})
                server = self.start(port)
                self.assertEqual((self.mounts(), self.notices()), (uaddrs(port), []))
                server.stop()
                self.assertEqual(self.entries, {})

    def test_addresses_that_are_none_are_replaced(self):
        for uaddr in (b'', b'x', b'1.2', b'.1.2', b'z.1.2', b'...', b'9' * 500):
            with self.subTest(uaddr=uaddr[:10]):
                self.entries[MOUNT, 3, b'tcp'] = uaddr
                port = free_port()
                server = self.start(port)
                self.assertEqual(self.mounts(), uaddrs(port))
                server.stop()

    def test_addresses_with_text_behind_them_are_replaced(self):
        with socket.create_server(('127.0.0.1', 0)) as other:
            uaddr = uaddrs(other.getsockname()[1])[b'tcp']
            for text in (b' ', b'x', b' \x1b[2J\x1b]0;title\x07\xe2\x80\xae'):
                with self.subTest(text=text):
                    self.entries[MOUNT, 3, b'tcp'] = uaddr + text
                    port = free_port()
                    server = self.start(port)
                    self.assertEqual((self.mounts(), self.notices()), (uaddrs(port), []))
                    server.stop()

    def test_other_entries_stay(self):
        others = {(MOUNT, 1, b'tcp'): b'0.0.0.0.8.1', (MOUNT, 3, b'udp'): b'0.0.0.0.8.1',
                  (NFS3, 3, b'rdma'): b'0.0.0.0.8.1', (RPCBIND, 4, b'tcp'): b'0.0.0.0.0.111'}
        self.entries.update(others)
        self.start(free_port()).stop()
        self.assertEqual(self.entries, others)

    def test_what_another_has_taken_over_is_not_withdrawn(self):
        server = self.start(free_port())
        self.entries[MOUNT, 3, b'tcp'] = b'0.0.0.0.8.1'
        server.stop()
        self.assertEqual(self.mounts(), {b'tcp': b'0.0.0.0.8.1'})

    def test_silence_has_an_end(self):
        self.is_silent = True
        begin = time.monotonic()
        server = self.start(free_port())
        # Four calls with libtirpc's usual 25 s would exceed this.
        self.assertLess(time.monotonic() - begin, 25)
        self.assertEqual(len(self.notices()), 1)
        server.stop()

    def test_not_taken_or_not_there(self):
        self.takes = False
        self.start(free_port()).stop()
        self.assertEqual(len(self.notices()), 1)
        os.unlink(self.path)
        port = free_port()
        self.start(port).stop()
        notice, = self.notices()
        self.assertIn(f': weir-nfs --mount-port {port}\n', notice)


if __name__ == '__main__':
    unittest.main(verbosity=1)
