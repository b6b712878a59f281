#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-nfsd on two lcores, with exports in memory, over shm. Several clients run at a time,
each on the lcore that its address selects. They use two exports, one on each lcore. Stored data
must be fetched unchanged, and the server must end cleanly, with or without active calls."""
import os
import random
import subprocess
import sys
import tempfile
import unittest

from nfs_tools import OK, Client, Server, unique

CLIENT, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
SIZES = (0, 1, 4096, 65537, (1 << 20) + 1)
CLIENTS = 4


class Lcores(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.addr = folder.name, unique('lcores')
        profile = os.path.join(self.folder, 'two.ini')
        with open(profile, 'w', encoding='ascii') as file:
            file.write('[engine]\nlcores = 0,1\nidle = yield\n')
        self.server = Server(SERVER, '--driver', 'shm', '--listen', self.addr, '--export',
                             '/a=ram:64m', '--export', '/b=ram:64m', '--profile', profile,
                             '--foreground', ready='export /a handle ')
        self.addCleanup(self.server.stop)
        second = self.server.process.stdout.readline()
        self.handles = [self.server.line.split()[-1], second.split()[-1]]
        self.tree = os.path.join(self.folder, 'tree')
        os.mkdir(self.tree)
        for size in SIZES:
            with open(os.path.join(self.tree, str(size)), 'wb') as file:
                file.write(random.Random(size).randbytes(size))
        os.symlink('x' * 3000, os.path.join(self.tree, 'link'))

    def client(self, export):
        return Client(CLIENT, '--server', self.addr, handle=self.handles[export])

    def all_at_once(self, commands):
        """Runs each pair (export, arguments) at the same time. All of them must succeed."""
        running = [subprocess.Popen([*self.client(export).command, *args], stdin=subprocess.DEVNULL,
                                    env=self.client(export).env, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT) for export, args in commands]
        for (export, args), process in zip(commands, running):
            out, _ = process.communicate(timeout=240)
            self.assertEqual(process.returncode, OK, (export, args, out.decode(errors='replace')))

    def test_trees_by_several_clients(self):
        several = [(turn % 2, turn) for turn in range(CLIENTS)]
        self.all_at_once([(export, ('put', '-r', self.tree, f'tree{turn}'))
                          for export, turn in several])
        # In about half of the cases, another lcore than the one that stored the file fetches it.
        backs = [os.path.join(self.folder, f'back{turn}') for turn in range(CLIENTS)]
        for back in backs:
            os.mkdir(back)
        self.all_at_once([(export, ('get', '-r', f'tree{turn}', backs[turn]))
                          for export, turn in several])
        for turn, back in enumerate(backs):
            subprocess.run(['diff', '-r', '--no-dereference', self.tree,
                            os.path.join(back, f'tree{turn}')], check=True)
        self.all_at_once([(export, ('rm', '-r', f'tree{turn}')) for export, turn in several])
        for export in range(2):
            self.assertEqual(self.client(export).ok(self, 'ls'), b'')

    def test_the_end_while_calls_are_under_way(self):
        # Half of them read and half write, each its own file, because the result of a READ during a
        # WRITE is not defined.
        loads = [subprocess.Popen([*self.client(turn % 2).command, '--retries', '1', '--timeout',
                                   '5', 'bench', '--file', f'bench{turn}', '--size', '1m',
                                   '--ratio', '100' if turn < 2 else '0', '--time', '60'],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=self.client(turn % 2).env)
                 for turn in range(CLIENTS)]
        try:
            # When the files exist, the load is running.
            for turn in range(CLIENTS):
                while self.client(turn % 2).run('stat', f'bench{turn}').returncode != OK:
                    self.assertIsNone(loads[turn].poll())
            self.server.stop()
        finally:
            for load in loads:
                load.kill()
                load.wait()


if __name__ == '__main__':
    unittest.main()
