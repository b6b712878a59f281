# SPDX-License-Identifier: BSD-3-Clause
"""The functions that tests of weir-bench share. The path of the program is their first argument."""
import json
import os
import subprocess
import sys
import unittest

import jsonschema

BENCH = sys.argv.pop(1)


def some_lcores(count):
    """Returns a list of up to 'count' different cores, or 'any' if there are fewer than two."""
    cores = sorted(os.sched_getaffinity(0))[:count]
    return ','.join(map(str, cores)) if len(cores) > 1 else 'any'


QUICK = ['--warmup', '0.05', '--time', '0.2', '--quiet', '--lcores', 'any']
BY_CALLS = ['--quiet', '--lcores', 'any', '--calls']


def run(*args, timeout=120):
    return subprocess.run([BENCH, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)


def read_schema(path):
    with open(path, encoding='utf-8') as opened:
        return jsonschema.Draft202012Validator(json.load(opened))


class Case(unittest.TestCase):
    """Checks measurements against the schema 'validator', which the test program sets."""
    validator = None

    def measure(self, *args, status=0):
        done = run('--json', '-', *args)
        self.assertEqual(done.returncode, status, done.stderr)
        result = json.loads(done.stdout)
        self.validator.validate(result)
        for point in result['points']:
            self.assertEqual((point['errors'], point['verify_failures']), (0, 0))
            self.assertEqual(sum(count for _, count in point['rtt_histogram']),
                             point['calls'] + point['untaken'])
        return result

    def refuses(self, text, *args):
        done = run(*args)
        self.assertEqual((done.returncode, done.stdout), (2, ''), done.stderr)
        self.assertIn(text, done.stderr)
