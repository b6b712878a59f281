#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-bench as its users run it, with each workload. Tests of measured times run alone on
the machine."""
import itertools
import json
import os
import pathlib
import re
import tempfile
import unittest

from bench_tools import QUICK, run
from versions import VERSION2, needs_version2

# The list from which the library's table is made.
COUNTERS = pathlib.Path(__file__).resolve().parents[3] / 'lib/engine/counter_list.h'
KEYS = {'driver', 'exposure', 'workload', 'size', 'depth', 'connections', 'seconds', 'rpc_per_s',
        'bytes_per_s', 'rtt_ns', 'errors', 'verify_failures', 'idle_poll_ratio', 'counters'}


def measure(case, *args):
    done = run('--json', '-', '--verify', *QUICK, *args)
    case.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    case.assertEqual((result['errors'], result['verify_failures']), (0, 0))
    case.assertGreater(result['rpc_per_s'], 0)
    return result


class Load(unittest.TestCase):
    def test_json_has_the_promised_keys(self):
        result = measure(self, '--workload', 'null')
        self.assertLessEqual(KEYS, set(result))
        self.assertEqual(set(result['rtt_ns']),
                         {'min', 'mean', 'p50', 'p90', 'p99', 'p999', 'p9999', 'max'})
        values = [result['rtt_ns'][key]
                  for key in ('min', 'p50', 'p90', 'p99', 'p999', 'p9999', 'max')]
        self.assertEqual(values, sorted(values))
        counters = re.findall(r'^COUNTER\(\w+, (\w+),', COUNTERS.read_text(encoding='utf-8'), re.M)
        self.assertGreater(len(counters), 80)
        self.assertEqual(list(result['counters']), counters)

    @needs_version2
    def test_continuation_with_receives_of_each_connections_own(self):
        with tempfile.NamedTemporaryFile('w', suffix='.ini') as profile:
            profile.write('[connection]\nshared_receives = off\n')
            profile.flush()
            for many in (('--depth', '1024'), ('--depth', '64', '--connections', '31')):
                with self.subTest(many=many):
                    measure(self, '--workload', 'list', '--size', '8k', '--profile', profile.name,
                            '--protocol', 'v2', '--extension', 'continuation', '--calls', '4096',
                            *many)

    def test_steady_state_does_no_work_twice(self):
        protocols = ('v1', 'v2') if VERSION2 else ('v1',)
        for workload, protocol in itertools.product(('null', 'read', 'write'), protocols):
            counters = measure(self, '--workload', workload, '--depth', '16', '--protocol',
                               protocol)['counters']
            for name in ('allocations', 'registrations', 'bulk_copies'):
                self.assertEqual(counters[name], 0, (workload, name))
            self.assertLess(counters['doorbells'], 2.2 * counters['calls_completed'] + 100)

    def test_several_connections_and_one_core(self):
        result = measure(self, '--workload', 'read', '--connections', '5', '--depth', '4')
        self.assertEqual(result['connections'], 5)
        result = measure(self, '--workload', 'read', '--lcores', '0', '--depth', '4')
        self.assertGreater(result['calls'], 10)

    def test_small_inline_threshold(self):
        for workload in ('echo', 'read', 'write'):
            measure(self, '--workload', workload, '--inline', '1024', '--size', '3000', '--depth',
                    '3')

    def test_long_messages_at_depth(self):
        for load in (['echo', '--depth', '32'], ['echo', '--size', '100k', '--depth', '32'],
                     ['echo', '--size', '64k', '--connections', '64'],
                     ['null', '--size', '16k', '--depth', '64']):
            with self.subTest(load=load):
                measure(self, '--calls', '500', '--workload', *load)

    def test_a_number_of_calls(self):
        done = run('--calls', '1000', '--json', '-', '--lcores', 'any')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)['calls'], 1000)
        # The limit is the number of calls, not the time. The number is a total, whatever the number
        # of threads.
        done = run('--calls', '20001', '--time', '0.001', '--depth', '4', '--json', '-', '--lcores',
                   'any')
        self.assertEqual(json.loads(done.stdout)['calls'], 20001)
        for calls in ('1', '1001'):
            done = run('--calls', calls, '--connections', '2', '--lcores', 'any', '--json', '-')
            self.assertEqual((done.returncode, json.loads(done.stdout)['calls']), (0, int(calls)),
                             done.stderr)

    def test_table_and_json_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'out.json')
            done = run('--json', path, *QUICK)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('RPC/s', done.stdout)
            with open(path) as file:
                self.assertEqual(json.load(file)['errors'], 0)
            done = run('--json', os.path.join(folder, 'no', 'out.json'), '--lcores', 'any',
                       '--time', '86400', timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn('out.json', done.stderr)

if __name__ == '__main__':
    unittest.main(verbosity=1)
