#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests how weir-nfs finds a server's ports and the root of an export: by rpcbind and MOUNT over
TCP, with valid, invalid and silent servers."""
import os
import shutil
import socket
import sys
import tempfile
import time
import unittest

from nfs_tools import NFS, TRANSPORT, USAGE, Client, Server, unique
from rpc_tools import Daemon, Reader, opaque, word

CLIENT, WRONG = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
ROOT = bytes.fromhex('0100000000000000')
RPCBIND, MOUNT, NFS3 = 100000, 100005, 100003


class Daemons(unittest.TestCase):
    def setUp(self):
        self.addr = unique('mount')
        server = Server(WRONG, self.addr, '3')
        self.addCleanup(server.stop)
        self.status, self.flavors, self.root = 0, [1], ROOT
        self.mount = self.daemon(self.on_mount)
        self.uaddr = f'127.0.0.1.{self.mount.port >> 8}.{self.mount.port & 255}'.encode()
        self.rpcbind = self.daemon(self.on_rpcbind)

    def daemon(self, answer):
        daemon = Daemon(answer)
        self.addCleanup(daemon.close)
        return daemon

    def on_mount(self, program, version, proc, args):
        if proc == 1:
            self.path = args.opaque()
            return word(self.status) + (opaque(self.root) + word(len(self.flavors), *self.flavors)
                                        if self.status == 0 else b'')
        if proc == 5:
            return word(1) + opaque(b'/a') + word(0, 1) + opaque(b'/b') + word(0, 0)
        return b''

    def on_rpcbind(self, program, version, proc, args):
        if proc == 4:
            return b''.join(word(1, *numbers) + b''.join(map(opaque, texts))
                            for *numbers, texts in self.dump) + word(0)
        wanted = args.word(), args.word(), args.opaque()
        self.wanted = wanted
        return opaque(self.uaddr if wanted[:2] == (MOUNT, 3) and wanted[2] == b'tcp' else b'')


class Ports(Daemons):
    def client(self, *options):
        return Client(CLIENT, '--server', self.addr, '--export', '/x', '--rpcbind-port',
                      str(self.rpcbind.port), *options)

    def test_rpcbind_then_mount_then_umount(self):
        self.client().ok(self, 'ls')
        self.assertEqual(self.path, b'/x')
        self.assertEqual(self.rpcbind.calls, [(RPCBIND, 3, 3)])
        self.assertEqual(self.mount.calls, [(MOUNT, 3, 1), (MOUNT, 3, 3)])

    def groups(self):
        """Returns the ids in the latest call's credential, which is an AUTH_SYS."""
        flavor, body = self.mount.credential
        self.assertEqual(flavor, 1)
        body = Reader(body)
        body.word()
        body.opaque()
        uid, _, n = body.word(), body.word(), body.word()
        return uid, [body.word() for _ in range(n)]

    def test_mount_is_called_with_the_groups_of_its_user(self):
        client, groups = self.client(), os.getgroups()[:16]
        if os.geteuid() == 0:
            groups = list(range(3000, 3016))
            client.command = [shutil.which('setpriv'), '--groups',
                              ','.join(map(str, groups + [3016])), *client.command]
        client.ok(self, 'ls')
        self.assertEqual(self.groups(), (os.geteuid(), groups))
        # The groups of another user are not known.
        client.ok(self, '--uid', str(os.geteuid() + 1), 'ls')
        self.assertEqual(self.groups(), (os.geteuid() + 1, []))

    def test_a_port_that_is_given_needs_no_rpcbind(self):
        self.client('--mount-port', str(self.mount.port)).ok(self, 'ls')
        self.assertEqual(self.rpcbind.calls, [])

    def test_a_handle_needs_no_mount(self):
        with tempfile.NamedTemporaryFile('w') as file:
            for text in (ROOT.hex(), ROOT.hex().upper() + '\n'):
                file.seek(0)
                file.write(text)
                file.flush()
                self.client('--handle', f'@{file.name}').ok(self, 'ls')
        Client(CLIENT, '--server', self.addr, handle=ROOT.hex()).ok(self, 'ls')
        self.assertEqual((self.rpcbind.calls, self.mount.calls), ([], []))

    def test_an_export_that_is_named_comes_before_the_environment(self):
        client = self.client()
        client.env = {**os.environ, 'WEIR_NFS_HANDLE': 'ff'}
        client.ok(self, 'ls')
        self.assertEqual(self.path, b'/x')

    def test_exports(self):
        self.assertEqual(self.client().ok(self, 'exports'), b'/a\n/b\n')

    def test_what_was_used_is_said(self):
        said = self.client('-v').run('ls').stderr.decode()
        self.assertIn(f'MOUNT at TCP port {self.mount.port}', said)
        self.assertIn(self.addr, said)

    def test_refusals(self):
        for status, text in ((2, 'no such export'), (13, 'permission denied'), (10006, '')):
            with self.subTest(status=status):
                self.status = status
                self.client().fails(self, NFS, text, 'ls')

    def test_flavors_without_ours_are_said(self):
        self.flavors = [6, 390003]
        done = self.client().run('ls')
        self.assertEqual(done.returncode, 0)
        self.assertIn(b'AUTH_SYS', done.stderr)

    def test_handles_and_lists_over_their_bounds(self):
        for root, flavors in ((bytes(65), [1]), (b'', [1]), (ROOT, [1] * 1000)):
            with self.subTest(root=len(root)):
                self.root, self.flavors = root, flavors
                self.client().fails(self, TRANSPORT, 'MOUNT', 'ls')

    def test_addresses_that_are_none(self):
        for uaddr in (b'127.0.0.1', b'x', b'1.2.3.4.256.1', b'1.2.3.4.0.0', b'1' * 5000,
                      b'1.2.3.4.-1.5', b'.1.1'):
            with self.subTest(uaddr=uaddr[:20]):
                self.uaddr = uaddr
                self.client().fails(self, TRANSPORT, 'rpcbind', 'ls')

    def test_not_registered(self):
        self.uaddr = b''
        self.client().fails(self, TRANSPORT, 'not registered', 'ls')

    def test_nobody_there(self):
        with socket.create_server(('127.0.0.1', 0)) as unused:
            port = unused.getsockname()[1]
        self.client('--mount-port', str(port)).fails(self, TRANSPORT, 'refused', 'ls')

    def test_answers_that_are_none(self):
        for results in (b'', word(0), word(0, 0xffffffff), b'\xff' * 400):
            with self.subTest(results=results[:8]):
                daemon = self.daemon(lambda *call, results=results: results)
                self.client('--mount-port', str(daemon.port)).fails(self, TRANSPORT, 'MOUNT', 'ls')
                self.client('--rpcbind-port',
                            str(daemon.port)).fails(self, TRANSPORT, 'rpcbind', 'ls')

    def test_silence_has_an_end(self):
        profile = self.enterContext(tempfile.NamedTemporaryFile('w', suffix='.ini'))
        profile.write('[connection]\nconnect_timeout_ms = 300\n')
        profile.flush()
        daemon = self.daemon(lambda *call: None)
        begin = time.monotonic()
        client = self.client('--profile', profile.name, '--mount-port', str(daemon.port))
        client.fails(self, TRANSPORT, 'imed out', 'ls')
        self.assertLess(time.monotonic() - begin, 30)


class Strangers(Daemons):
    """Over shm, any local user can run a server on a port of this host, which weir-nfs must not
    trust."""

    def listen(self, uid, host='127.0.0.1', port=0):
        os.seteuid(uid)
        try:
            listener = socket.create_server((host, port), family=socket.AF_INET6 if ':' in host
                                            else socket.AF_INET)
        finally:
            os.seteuid(0)
        daemon = Daemon(self.on_mount, listener)
        self.addCleanup(daemon.close)
        return listener.getsockname()[1]

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest('only root can take the part of another user')
        super().setUp()

    def client(self, port):
        return Client(CLIENT, '--server', self.addr, '--export', '/x', '--mount-port', str(port))

    def test_root_is_believed(self):
        self.client(self.listen(0)).ok(self, 'ls')

    def test_another_user_is_not(self):
        self.client(self.listen(12345)).fails(self, TRANSPORT,
                                              'MOUNT: user 12345 listens on TCP port', 'ls')

    def test_a_user_of_the_other_family_is_not(self):
        port = self.listen(0)
        try:
            self.listen(12345, '::1', port)
        except OSError:
            self.skipTest('this host has no IPv6')
        self.client(port).fails(self, TRANSPORT, "can't determine", 'ls')


class Netids(Daemons):
    """The port of NFS itself, found by its netid. This test has no device to connect with, so that
    it ends when the port is found."""

    def find(self, text, server='127.0.0.1'):
        client = Client(CLIENT, '--driver', 'verbs', '--server', server, '--port', 'rpcbind',
                        '--rpcbind-port', str(self.rpcbind.port), '-v', handle='00')
        client.fails(self, TRANSPORT, text, 'ping')
        self.assertEqual(self.rpcbind.calls[-1], (RPCBIND, 3, 4))

    def test_the_entry_for_rdma_is_found_among_others(self):
        self.dump = [(RPCBIND, 3, (b'tcp', b'0.0.0.0.0.111', b'superuser')),
                     (NFS3, 3, (b'tcp', b'0.0.0.0.8.1', b'superuser')),
                     (NFS3, 3, (b'rdma6', b'::.78.83', b'superuser')),
                     (NFS3, 4, (b'rdma', b'0.0.0.0.78.84', b'superuser')),
                     (NFS3, 3, (b'rdma', b'0.0.0.0.78.82', b'superuser'))]
        self.find('says port 20050')

    def test_not_there(self):
        self.dump = [(NFS3, 3, (b'tcp', b'0.0.0.0.8.1', b'superuser'))]
        self.find('not registered for netid rdma')
        self.dump = []
        self.find('not registered for netid rdma')

    def test_lists_over_their_bounds(self):
        for dump in ([(NFS3, 3, (b'rdma', b'1' * 128, b''))], [(NFS3, 3, (b'n' * 256, b'', b''))],
                     [(1, 1, (b'tcp', b'', b''))] * 5000):
            with self.subTest(entries=len(dump)):
                self.dump = dump
                self.find('rpcbind: ')

    def test_an_address_without_a_port(self):
        self.dump = [(NFS3, 3, (b'rdma', b'10.0.0.1', b''))]
        self.find('no port')


class Mistakes(unittest.TestCase):
    def test_usage(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)

        def at(text):
            path = os.path.join(folder.name, str(len(os.listdir(folder.name))))
            with open(path, 'w', encoding='ascii') as file:
                file.write(text)
            return f'@{path}'

        good = ['--server', 'x', '--handle', at('00')]
        for text, *args in (('no server', 'ls'), ('no export', '--server', 'x', 'ls'),
                            ('no command', *good), ('no such command', *good, 'frobnicate'),
                            ('usage', *good, 'stat'), ('usage', *good, 'mv', 'a'),
                            ('not valid for the command', *good, '-r', 'ls'),
                            ('not valid for the command', *good, '--verify', 'ls'),
                            ('unrecognized', *good, '--no-such', 'ls'),
                            ('hexadecimal', '--server', 'x', '--handle', at('0g'), 'ls'),
                            ('hexadecimal', '--server', 'x', '--handle', at('0'), 'ls'),
                            ('hexadecimal', '--server', 'x', '--handle', at(''), 'ls'),
                            ('hexadecimal', '--server', 'x', '--handle', at('00\n\n'), 'ls'),
                            ('No such file', '--server', 'x', '--handle', '@/no/such', 'ls'),
                            ('Is a directory', '--server', 'x', '--handle', '@/', 'ls'),
                            ('others can read this command line', '--server', 'x', '--handle', '00',
                             'ls'),
                            ('hexadecimal', '--server', 'x', '--handle', at('00' * 65), 'ls'),
                            ('from 1 to 1024', *good, '--depth', '0', 'get', 'x'),
                            ('from 1 to 65535', *good, '--mount-port', '70000', 'ls'),
                            ('have no port', *good, '--port', '5', 'ls'),
                            ('1 GiB', *good, '--depth', '1024', '--block', '16m', 'get', 'x'),
                            ('octal', *good, 'chmod', '9', 'x'),
                            ('a number', *good, 'truncate', '1q', 'x'),
                            ('a number', *good, 'ping', '0'),
                            ('/no/such.ini', '--profile', '/no/such.ini', 'ls'),
                            ('driver', *good, '--driver', 'none', 'ls'),
                            ('one block', *good, 'bench', '--size', '1')):
            with self.subTest(args=args):
                Client(CLIENT).fails(self, USAGE, text, *args)

    def test_a_handle_is_not_printed_again(self):
        done = Client(CLIENT).fails(self, USAGE, 'WEIR_NFS_HANDLE', '--server', 'x', '--handle',
                                    '0108abcd', 'ls')
        self.assertNotIn(b'0108abcd', done.stdout + done.stderr)
        done = Client(CLIENT, handle='0108abcx').fails(self, USAGE, 'hexadecimal', '--server', 'x',
                                                       'ls')
        self.assertNotIn(b'0108abcx', done.stdout + done.stderr)

    def test_nobody_listens(self):
        Client(CLIENT, '--server', unique('nobody'),
               handle='00').fails(self, TRANSPORT, 'refused', 'ls')

    def test_help_and_version(self):
        said = Client(CLIENT).ok(self, '--help').decode()
        for option in ('--driver', '--server', '--export', '--handle', '--depth', '--json',
                       '--port', 'Exit status'):
            self.assertIn(option, said)
        self.assertIn('weir-nfs', Client(CLIENT).ok(self, '--version').decode())


if __name__ == '__main__':
    unittest.main(verbosity=1)
