#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that weir-nfsd gives up rights that it does not need to serve: capabilities, new privileges
and system calls, in each of its threads."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from nfs_tools import Client, Server, unique

CLIENT, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
START, USAGE = 1, 2
# The capabilities have the numbers of <linux/capability.h>, from which the masks below are made.
KEPT = {'cap_chown': 0, 'cap_dac_override': 1, 'cap_dac_read_search': 2, 'cap_fowner': 3,
        'cap_fsetid': 4, 'cap_setgid': 6, 'cap_setuid': 7, 'cap_ipc_lock': 14, 'cap_mknod': 27}
NINE = sum(1 << number for number in KEPT.values())


def status_of(path):
    with open(path, encoding='ascii') as file:
        return dict(re.findall(r'^(\w+):\s*(\S*)', file.read(), re.M))


def threads_of(pid):
    return [status_of(f'/proc/{pid}/task/{task}/status')
            for task in os.listdir(f'/proc/{pid}/task')]


class Sandbox(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        self.addr = unique('sandbox')

    def serve(self, *options, before=()):
        server = Server(*before, SERVER, '--driver', 'shm', '--listen', self.addr, '--state',
                        os.path.join(self.folder, 'state'), '--no-rpcbind', '--foreground',
                        *options, ready='export /a handle ')
        self.addCleanup(server.stop)
        return server

    def copy_a_file(self, server):
        """Stores data and fetches them."""
        data = os.urandom(300000)
        client = Client(CLIENT, '--driver', 'shm', '--server', self.addr,
                        handle=server.line.split()[-1])
        local = os.path.join(self.folder, 'local')
        with open(local, 'wb') as file:
            file.write(data)
        client.ok(self, 'put', local, 'file')
        self.assertEqual(client.ok(self, 'cat', 'file'), data)

    def bound(self, server, capabilities):
        threads = threads_of(server.process.pid)
        self.assertGreaterEqual(len(threads), 2)
        for thread in threads:
            self.assertEqual((thread['Seccomp'], thread['NoNewPrivs']), ('2', '1'), thread['Name'])
            for kind in ('CapEff', 'CapPrm'):
                self.assertEqual(int(thread[kind], 16), capabilities, (thread['Name'], kind))
            self.assertEqual((int(thread['CapInh'], 16), int(thread['CapAmb'], 16)), (0, 0),
                             thread['Name'])
        return threads

    @unittest.skipUnless(os.geteuid() == 0, 'capabilities are root\'s')
    def test_each_thread_keeps_nine_capabilities(self):
        exports = os.path.join(self.folder, 'exports.ini')
        served = os.path.join(self.folder, 'served')
        os.mkdir(served)
        with open(exports, 'w', encoding='ascii') as file:
            file.write(f'[/a]\nbackend = dir:{served}\nroot_squash = no\n[/b]\nbackend = ram:4m\n')
        server = self.serve('--exports', exports, '--mount-port', '0')
        held = int(status_of('/proc/self/status')['CapPrm'], 16)
        for thread in self.bound(server, NINE & held):
            self.assertEqual(int(thread['CapBnd'], 16) & ~NINE, 0, thread['Name'])
        self.copy_a_file(server)
        self.bound(server, NINE & held)

    @unittest.skipUnless(os.geteuid() == 0, 'only root can become another user')
    def test_without_root_there_are_none(self):
        before = (shutil.which('setpriv'), '--reuid=65534', '--regid=65534', '--clear-groups')
        server = self.serve('--export', 'a=ram:16m', before=before)
        self.bound(server, 0)

    def test_memory_is_served(self):
        server = self.serve('--export', 'a=ram:16m')
        self.copy_a_file(server)
        for thread in threads_of(server.process.pid):
            self.assertEqual((thread['Seccomp'], thread['NoNewPrivs']), ('2', '1'), thread['Name'])

    def test_it_can_be_switched_off(self):
        mine = status_of('/proc/self/status')
        for thread in threads_of(self.serve('--export', 'a=ram:16m', '--sandbox',
                                            'off').process.pid):
            for kind in ('Seccomp', 'NoNewPrivs', 'CapEff', 'CapBnd'):
                self.assertEqual(thread[kind], mine[kind], (thread['Name'], kind))

    def test_it_is_on_or_off(self):
        done = subprocess.run([SERVER, '--listen', self.addr, '--export', 'a=ram', '--sandbox',
                               'maybe'], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn(b"--sandbox 'maybe': expected on or off", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, 'capabilities are root\'s')
    def test_a_capability_that_a_directory_needs_is_named(self):
        held = int(status_of('/proc/self/status')['CapPrm'], 16)
        for name in sorted(set(KEPT) - {'cap_ipc_lock'}):
            if not held & 1 << KEPT[name]:
                continue
            with self.subTest(missing=name):
                without = f'--bounding-set=-{name.removeprefix("cap_")}'
                done = subprocess.run([shutil.which('setpriv'), without, SERVER, '--driver', 'shm',
                                       '--listen', self.addr, '--export', f'a=dir:{self.folder}',
                                       '--state', self.folder, '--foreground'],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL, timeout=60, check=False)
                self.assertEqual(done.returncode, START, done.stderr)
                said, = done.stderr.decode().splitlines()
                self.assertIn(f'capabilities that this process lacks: {name}. ', said)
                self.assertEqual(done.stdout, b'')
                self.assertEqual(os.listdir(self.folder), []) # the copy has not even begun

    @unittest.skipUnless(os.geteuid() == 0, 'capabilities are root\'s')
    def test_memory_needs_none(self):
        server = self.serve('--export', 'a=ram:16m',
                            before=(shutil.which('setpriv'), '--bounding-set=-all'))
        self.bound(server, 0)
        self.copy_a_file(server)


if __name__ == '__main__':
    unittest.main(verbosity=1)
