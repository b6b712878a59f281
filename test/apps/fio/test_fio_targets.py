#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the program fio_targets with a server of NFS and with the block store of the examples.
Arguments: fio_targets, weir-nfsd and example-blockstore."""
import os
import subprocess
import sys
import tempfile
import unittest

from nfs_tools import Server, unique

TARGETS, NFSD, BLOCKSTORE = map(os.path.abspath, sys.argv[1:4])
del sys.argv[1:4]


class Targets(unittest.TestCase):
    def run_targets(self, *args):
        done = subprocess.run([TARGETS, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_nfs(self):
        name = unique('targets')
        server = Server(NFSD, '--listen', name, '--export', '/a=ram:8m', '--foreground',
                        ready='export /a handle ')
        self.addCleanup(server.stop)
        with tempfile.NamedTemporaryFile('w') as handle:
            handle.write(server.line.split()[-1])
            handle.flush()
            self.run_targets('nfs', name, '@' + handle.name)

    def test_block(self):
        name = unique('targets')
        server = Server(BLOCKSTORE, '--listen', name, '--blocks', '256', ready='listening')
        self.addCleanup(server.stop)
        self.run_targets('block', name + '.0')


if __name__ == '__main__':
    unittest.main()
