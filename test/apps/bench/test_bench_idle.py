#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests bench/idle in a short run: the form of what it prints. The figures depend on the load of
the machine, and are not tested."""
import json
import os
import signal
import subprocess
import sys
import unittest

IDLE, BUILD, PARTS = sys.argv[1:4]
del sys.argv[1:4]
LINES = {'cpu': ['spin', 'adaptive', 'event'], 'wake': ['one', 'both'], 'rate': ['adaptive'],
         'count': ['slept']}
LIMITS = {'cpu': 0.5, 'wake': 20, 'rate': 1, 'count': 1}


def cores():
    """Returns two cores of this process, which are the same one if there is no other."""
    usable = sorted(os.sched_getaffinity(0))
    return f'{usable[0]},{usable[-1]}'


def command(*args):
    return [sys.executable, IDLE, '--build', BUILD, '--cores', cores(), '--time', '0.1', '--wakes',
            '10', *args]


def run(*args):
    return subprocess.run(command(*args), capture_output=True, text=True, check=False)


class Idle(unittest.TestCase):
    def test_json(self):
        done = run('--rounds', '1', '--parts', PARTS, '--json', '-')
        self.assertIn(done.returncode, (0, 1), done.stderr)
        lines = json.loads(done.stdout)['lines']
        self.assertEqual([(one['part'], one['name']) for one in lines],
                         [(part, name) for part in PARTS.split(',') for name in LINES[part]])
        for one in lines:
            limit = None if one['name'] == 'spin' else LIMITS[one['part']]
            self.assertEqual(one['limit'], limit, one)
            self.assertEqual(one['ok'], limit is None or one['value'] <= limit, one)
            self.assertTrue(one['low'] <= one['value'] <= one['high'], one)
        self.assertEqual(done.returncode, 0 if all(one['ok'] for one in lines) else 1)
        for one in (one for one in lines if one['part'] == 'count'):
            # These are counted, so that they do not depend on the load.
            self.assertTrue(one['ok'], one)

    def test_table(self):
        done = run('--rounds', '2', '--parts', 'wake')
        self.assertIn(done.returncode, (0, 1), done.stderr)
        head, *lines = done.stdout.splitlines()
        self.assertRegex(head, r'^part +figure +median +min +max +target$')
        for line, sides in zip(lines, ('the responder sleeps', 'both sides sleep'), strict=True):
            self.assertRegex(line, rf'^wake +{sides}: call [\d.]+ us, plain [\d.]+ us +-?[\d.]+ us '
                             r'+-?[\d.]+ +-?[\d.]+  <= 20 us(  MISSED)?$')
        self.assertIn('idle: wake, both, round 2 of 2', done.stderr)

    def test_usage(self):
        for args, why in ((['--parts', 'none'], '--parts none'),
                          (['--build', '/nonexistent'], 'build it'),
                          (['--cores', '0'], 'two cores'),
                          (['--rounds', '0'], 'more than 0')):
            done = run(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(why, done.stderr)

    def test_a_program_fails(self):
        done = run('--parts', 'cpu', '--cores', '1023,1023')
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("can't run on that core", done.stderr)

    def test_interrupt(self):
        with subprocess.Popen(command('--parts', 'cpu', '--time', '100'), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            self.assertIn('round 1', process.stderr.readline())
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
        self.assertEqual((process.returncode, out), (128 + signal.SIGTERM, ''))
        self.assertIn('interrupted', err)


if __name__ == '__main__':
    unittest.main()
