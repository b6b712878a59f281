# SPDX-License-Identifier: BSD-3-Clause
"""The functions that tests of two programs over the model of mlx5 share. Their first two arguments
are the library of the model and the address of its device."""
import os
import subprocess
import sys
import tempfile
import time
import unittest

MODEL, ADDRESS = os.path.abspath(sys.argv[1]), sys.argv[2]
del sys.argv[1:3]
VIOLATION = 'mlx5-model: violation'


class Case(unittest.TestCase):
    """Has a network of its own for each test, on which nothing may violate the rules of the
    device."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.network = self.path('network')
        os.mkdir(self.network)
        self.env = {**os.environ, 'LD_PRELOAD': MODEL, 'MLX5_MODEL_NETWORK': self.network}
        self.profile = self.path('profile.ini')
        with open(self.profile, 'w', encoding='utf-8') as file:
            file.write('[engine]\nidle = sleep\n')
        self.logs = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def begin(self, *command, **options):
        """Starts a program. Its messages go to a file, which 'said' reads."""
        log = self.path(f'log-{len(self.logs)}')
        self.logs.append(log)
        with open(log, 'w', encoding='utf-8') as file:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=file,
                                       env=self.env, **options)
        process.log = log
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def said(self, process):
        with open(process.log, encoding='utf-8') as file:
            return file.read()

    def waits(self, process, condition):
        """Waits until the condition is true, while the process lives."""
        for _ in range(3000):
            if condition():
                return
            self.assertIsNone(process.poll(), self.said(process))
            time.sleep(0.01)
        self.fail(self.said(process))

    def ends(self, process, status):
        process.wait(60)
        self.assertEqual(process.returncode, status, self.said(process))

    def stop(self, process, status=0):
        process.terminate()
        self.ends(process, status)

    def tearDown(self):
        """The processes of the test have ended by themselves, or were killed."""
        for log in self.logs:
            with open(log, encoding='utf-8') as file:
                self.assertNotIn(VIOLATION, file.read())
