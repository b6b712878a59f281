#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests bench/stalls in a short run over shm. It counts calls: while a client of each kind stalls,
the calls of all others end."""
import json
import subprocess
import sys
import unittest

STALLS, BUILD = sys.argv[1:3]
del sys.argv[1:3]
KINDS = ('null', 'read', 'write', 'list', 'many', 'idle')
CLIENTS = 2
CALLS = 2000


def run(*args):
    return subprocess.run([sys.executable, STALLS, '--build', BUILD, *args], capture_output=True,
                          text=True, check=False)


class Stalls(unittest.TestCase):
    def test_calls_of_the_others_end(self):
        done = run('--clients', str(CLIENTS), '--calls', str(CALLS), '--rounds', '1', '--before',
                   '0.3', '--floor', '0', '--json', '-')
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = json.loads(done.stdout)['lines']
        self.assertEqual(tuple(line['kind'] for line in lines), KINDS)
        for line in lines:
            self.assertEqual(line['calls'], CLIENTS * CALLS, line['kind'])
            self.assertGreater(line['rate_stalled'], 0)
            self.assertGreater(line['p99_ns_stalled'], 0)

    def test_a_floor_that_is_not_met(self):
        done = run('--kinds', 'idle', '--calls', '10', '--rounds', '1', '--before', '0.1',
                   '--floor', '1e9')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('below 1e+09% of their throughput: idle', done.stderr)
        self.assertIn('16 connections without calls', done.stdout)

    def test_usage(self):
        for args, why in ((['--kinds', 'none'], '--kinds none'),
                          (['--driver', 'verbs'], '--address'),
                          (['--driver', 'mlx5'], '--address'),
                          (['--build', '/nonexistent'], 'build it'),
                          (['--clients', '0'], 'more than 0')):
            done = run(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(why, done.stderr)


if __name__ == '__main__':
    unittest.main()
