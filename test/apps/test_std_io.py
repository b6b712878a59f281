#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests programs without standard input, output or error, and with a reader that has closed its
end. Arguments: the programs, as NAME=PATH."""
import os
import subprocess
import sys
import unittest

PROGRAMS = dict(argument.split('=', 1) for argument in sys.argv[1:] if '=' in argument)
sys.argv[1:] = [argument for argument in sys.argv[1:] if '=' not in argument]
# The status that each program documents for output that cannot be written.
LOST = {'weir-nfsd': 1, 'weir-nfs': 4, 'weir-bench': 1, 'weir-check': 1, 'weir-decode': 1,
        'weir-hostile': 2, 'weir-sim': 2, 'weir-round-trips': 1, 'weir-exporter': 1, 'weir-top': 1,
        'weirgen': 1}
HELP = {'weir-hostile': '--list'}
USAGE = {'weir-nfsd': ['--export', 'a=ram'], 'weir-nfs': ['no-such-command'],
         'weir-bench': ['--no-such-option'], 'weir-check': ['--no-such-option'],
         'weir-decode': ['no-such-argument'],
         'weir-hostile': ['--no-such-option'], 'weir-sim': ['--no-such-option'],
         'weir-round-trips': ['--no-such-option'], 'weir-exporter': ['--no-such-option'],
         'weir-top': ['--no-such-option'], 'weirgen': ['--no-such-option']}


def closer(*fds):
    def close():
        for fd in fds:
            os.close(fd)
    return close


def run(*command, closed=(), stdout=subprocess.PIPE):
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          timeout=60, check=False, preexec_fn=closer(*closed))


class StandardIo(unittest.TestCase):
    def test_output_that_is_closed_is_an_error(self):
        for name, path in PROGRAMS.items():
            with self.subTest(program=name):
                done = run(path, HELP.get(name, '--help'), closed=[1])
                self.assertEqual(done.returncode, LOST[name], done.stderr)
                self.assertIn(b"standard output can't be written", done.stderr)

    def test_a_reader_that_went_away_is_an_error_and_no_signal(self):
        for name, path in PROGRAMS.items():
            with self.subTest(program=name):
                reader, writer = os.pipe()
                os.close(reader)
                done = run(path, HELP.get(name, '--help'), stdout=writer)
                os.close(writer)
                self.assertEqual(done.returncode, LOST[name], done.stderr)
                self.assertIn(b"standard output can't be written", done.stderr)

    def test_usage_is_an_error_without_any_descriptor(self):
        for name, path in PROGRAMS.items():
            for closed in ([0], [1, 2], [0, 1, 2]):
                with self.subTest(program=name, closed=closed):
                    self.assertEqual(run(path, *USAGE[name], closed=closed).returncode, 2)

    def test_figures_that_nobody_reads_are_an_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = run(PROGRAMS['weir-bench'], '--lcores', 'any', '--calls', '10', '--quiet', '--json',
                   '-', stdout=writer)
        os.close(writer)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b'Broken pipe', done.stderr)
        done = run(PROGRAMS['weir-sim'], '--seed', '1', '--steps', '10', closed=[1])
        self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == '__main__':
    assert set(PROGRAMS) == set(LOST), PROGRAMS
    unittest.main(verbosity=1)
