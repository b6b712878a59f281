#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-nfs and weir-nfsd over verbs on the model of mlx5: files, a tree, and a process that
is killed."""
import os
import random
import subprocess
import sys
import unittest

from network_tools import ADDRESS, Case
from nfs_tools import OK, TRANSPORT, Client

CLIENT, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
SIZES = (0, 1, 4096, 4097, (1 << 20) + 1)


def data_of(size):
    return random.Random(size).randbytes(size)


class Served(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('files'))
        self.start()

    def start(self):
        address, common = f'{ADDRESS}:20049', ['--driver', 'verbs', '--profile', self.profile]
        self.server = self.begin(SERVER, '--listen', address, *common, '--export', '/ram=ram:64m',
                                 '--foreground', '--no-rpcbind', '--no-mount',
                                 stdout=subprocess.PIPE, text=True)
        line = self.server.stdout.readline()
        self.assertIn('export /ram handle ', line, self.said(self.server))
        self.env['WEIR_NFS_HANDLE'] = line.split()[-1]
        self.client = Client(CLIENT, '--server', address, *common)
        self.client.env = self.env

    def ok(self, *args, **kwargs):
        return self.client.ok(self, *args, cwd=self.path('files'), **kwargs)

    def write(self, name, data):
        with open(self.path('files/' + name), 'wb') as file:
            file.write(data)

    def read(self, name):
        with open(self.path('files/' + name), 'rb') as file:
            return file.read()


class Files(Served):
    def test_sizes_there_and_back(self):
        for size in SIZES:
            with self.subTest(size=size):
                self.write('file', data_of(size))
                self.ok('put', 'file', f'remote-{size}')
                self.ok('get', f'remote-{size}', 'back')
                self.assertEqual(self.read('back'), data_of(size))
        self.assertEqual(self.ok('ls').decode().split(),
                         sorted(f'remote-{size}' for size in SIZES))
        self.stop(self.server, OK)

    def test_a_tree(self):
        os.makedirs(self.path('files/tree/below'))
        for name in ('tree/one', 'tree/below/two'):
            self.write(name, data_of(70001))
        self.ok('put', '-r', 'tree', 'copy')
        self.ok('get', '-r', 'copy', 'back')
        for name in ('one', 'below/two'):
            self.assertEqual(self.read('back/' + name), data_of(70001))
        self.ok('rm', '-r', 'copy')
        self.assertEqual(self.ok('ls'), b'')
        self.stop(self.server, OK)


class Death(Served):
    def begin_bench(self, *options):
        """Begins calls for longer than any test waits. Returns when the file is there."""
        client = self.begin(*self.client.command, *options, 'bench', '--size', '64k', '--depth',
                            '4', '--time', '3600', '--file', 'busy', stdout=subprocess.DEVNULL)
        self.waits(client, lambda: b'busy' in self.ok('ls'))
        return client

    def test_the_server_is_killed(self):
        client = self.begin_bench('--retries', '1')
        self.server.kill()
        self.ends(client, TRANSPORT)
        self.start()
        self.assertEqual(self.ok('ls'), b'')
        self.stop(self.server, OK)

    def test_the_client_is_killed(self):
        for _ in range(3):
            self.begin_bench().kill()
        self.write('file', data_of(70001))
        self.ok('put', 'file')
        self.assertEqual(self.ok('cat', 'file'), data_of(70001))
        self.stop(self.server, OK)


if __name__ == '__main__':
    unittest.main(verbosity=1)
