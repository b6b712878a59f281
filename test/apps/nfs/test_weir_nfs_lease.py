#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that weir-nfs tries again while a process on the server's host gives up a lease."""
import fcntl
import os
import signal
import sys
import tempfile
import threading
import unittest

from nfs_tools import Client, Server, unique

CLIENT, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]


@unittest.skipUnless(os.geteuid() == 0, 'dir is for root')
class Lease(unittest.TestCase):
    def test_a_truncation_waits_for_the_end_of_a_lease(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
            path, addr = os.path.join(folder, 'file'), unique('lease')
            with open(path, 'w', encoding='ascii') as file:
                file.write('before')
            os.chmod(folder, 0o755)
            os.chmod(path, 0o666)
            server = Server(SERVER, '--driver', 'shm', '--listen', addr, '--export',
                            f'vol=dir:{folder}', '--state', state, '--foreground',
                            ready='export /vol handle ')
            self.addCleanup(server.stop)
            broken = threading.Event()
            signal.signal(signal.SIGIO, lambda *_: broken.set())
            client = Client(CLIENT, '--driver', 'shm', '--server', addr,
                            handle=server.line.split()[-1])
            lease = os.open(path, os.O_RDONLY)
            fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            self.addCleanup(signal.signal, signal.SIGIO, signal.SIG_IGN)
            done = []
            cut = threading.Thread(target=lambda: done.append(client.run('truncate', '3', 'file')))
            cut.start()
            # The open that broke the lease was refused, so that nothing has changed yet.
            self.assertTrue(broken.wait(30), done)
            with open(path, encoding='ascii') as file:
                self.assertEqual(file.read(), 'before')
            fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            os.close(lease)
            cut.join()
            self.assertEqual((done[0].returncode, done[0].stderr), (0, done[0].stderr))
            with open(path, encoding='ascii') as file:
                self.assertEqual(file.read(), 'bef')


if __name__ == '__main__':
    unittest.main(verbosity=1)
