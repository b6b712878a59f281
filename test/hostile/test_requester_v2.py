#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""weir-hostile as a responder of version 2, over shm. Every case runs against weir-bench, and so do
mutations. Each of weir-bench's calls must end once, with an error or with correct data.
weir-hostile also runs against itself, to check that it finds errors."""
import os
import subprocess
import sys
import tempfile
import time
import unittest

HOSTILE, BENCH, CALLS = sys.argv[1:4]
del sys.argv[1:4]
PROFILE = os.path.join(os.path.dirname(__file__), '../../config/laptop.ini')
# Status 95 means that a sanitizer found something. weir-hostile treats 0 and 1 of a requester as an
# answer.
ENV = dict(os.environ, ASAN_OPTIONS='exitcode=95',
           UBSAN_OPTIONS='halt_on_error=1:exitcode=95:print_stacktrace=1',
           LSAN_OPTIONS='exitcode=95')
# an expected event happens within this time, however busy the machine is
WAIT = ['--protocol', 'v2', '--timeout', '30000']


def run(*args, timeout=500):
    return subprocess.run([HOSTILE, *WAIT, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, stdin=subprocess.DEVNULL, timeout=timeout, env=ENV,
                          check=False)


class Attack(unittest.TestCase):
    def setUp(self):
        self.addr = f'weir-test-hostile-v2-{os.getpid()}-{time.monotonic_ns()}'
        self.log = tempfile.NamedTemporaryFile('w+')
        self.addCleanup(self.log.close)
        self.profile = tempfile.NamedTemporaryFile('w', suffix='.ini')
        self.addCleanup(self.profile.close)
        with open(PROFILE, encoding='utf-8') as laptop:
            self.profile.write(laptop.read().replace('[connection]\n', '[connection]\nprotocol = '
                                                     'auto\nextension = all\n'))
        self.profile.flush()

    def said(self):
        self.log.seek(0)
        return self.log.read()[-4000:]

    def attack(self, calls, *args):
        requester = ' '.join([CALLS, BENCH, self.addr, self.profile.name, str(calls), '>>',
                              self.log.name, '2>&1'])
        done = run('--listen', self.addr, '--run', 'exec ' + requester, *args)
        self.assertEqual(done.returncode, 0, done.stdout[-8000:] + done.stderr + self.said())
        return done.stdout

    def test_cases(self):
        listed = run('--list').stdout.split('Against a requester of version 2')[1].splitlines()[1:]
        self.assertGreater(len(listed), 150)
        self.assertEqual(self.attack(3).count('ok  '), len(listed))

    def test_mutations(self):
        self.attack(400, '--count', '512', '--seed', '0')
        self.attack(400, '--count', '256', '--seed', str(time.time_ns() // 1000))


class Itself(Attack):
    """Runs each side of weir-hostile against the other, which breaks the protocol. weir-hostile
    must find that."""

    def attack_itself(self, case, asks):
        responder = subprocess.Popen([HOSTILE, *WAIT, '--listen', self.addr, '--case', case],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=self.log, env=ENV)
        try:
            return run('--connect', self.addr, '--case', asks)
        finally:
            responder.kill()
            responder.wait()

    def test_cases(self):
        for case, got in (('v2-entries-none', 'UNSOUND (other entries than directions)'),
                          ('v2-entry-written', 'UNSOUND (an entry that Table 2 has not)'),
                          ('v2-placed-twice', 'UNSOUND (an entry that is wrong about its place)'),
                          ('v2-placed-number-max',
                           'UNSOUND (an entry that is wrong about its place)'),
                          ('v2-reply-padding', 'UNSOUND (padding that is not zero)'),
                          ('v2-payload-longer', 'UNSOUND (no reply)'),
                          ('v2-error-system', 'RDMA2_ERROR (SYSTEM)'),
                          ('v2-report', 'Report Error (BADTBSN)')):
            with self.subTest(case=case):
                done = self.attack_itself(case, 'request-direction-placed')
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn('FAILED  request-direction-placed', done.stdout)
                self.assertIn(got, done.stdout)

    def test_mutations(self):
        for command, says in (('kill -SEGV $$', 'status 139'), ('exit 96', 'status 96'),
                              ('exit 1', 'no connection')):
            done = run('--timeout', '2000', '--listen', self.addr, '--case', 'v2-reply', '--run',
                       command)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(says, done.stdout)


if __name__ == '__main__':
    unittest.main(verbosity=1)
