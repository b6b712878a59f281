#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the workloads of weir-bench with numbers of calls: each size, protocol and extension, with
all data checked. No test depends on time."""
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import unittest

from versions import needs_version2

BENCH = sys.argv.pop(1)
WORKLOADS = ('null', 'echo', 'read', 'write', 'mixed', 'list')
CALLS = 300


def run(args):
    return subprocess.run([BENCH, '--json', '-', '--verify', '--quiet', '--lcores', 'any',
                           '--depth', '8', '--calls', str(CALLS), *args],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def options(load):
    """Returns the options of weir-bench for a run. An empty mode means the default."""
    return [word for name, value in load.items()
            for word in (f'--{name}', *([value] if value else []))]


def run_each(loads):
    """Yields each of the loads with its run. Several loads run at a time, because a run mostly
    waits."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(zip(loads, pool.map(lambda load: run(options(load)), loads)))


class Workloads(unittest.TestCase):
    def check(self, done):
        """Checks the report of a run in which everything went well."""
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result['errors'], result['verify_failures'], result['calls']),
                         (0, 0, CALLS))
        self.assertGreater(result['rpc_per_s'], 0)
        return result

    def test_over_processes_and_threads(self):
        loads = [{'workload': workload, 'size': size, **mode}
                 for mode, workload, size in itertools.product(({}, {'threads': ''}), WORKLOADS,
                                                               ('0', '1', '4096', '70001'))
                 if (workload, size) != ('null', '70001')]
        for load, done in run_each(loads):
            with self.subTest(**load):
                result = self.check(done)
                self.assertEqual(result['mode'], 'threads' if 'threads' in load else 'processes')

    def test_over_several_connections(self):
        """The replies of LIST and ECHO need more buffers than the quota of one peer allows. Calls
        wait for them, and none fails."""
        loads = [{'workload': workload, 'size': size, 'connections': '4', 'threads': ''}
                 for workload, size in itertools.product(('list', 'echo'), ('4096', '65536'))]
        for load, done in run_each(loads):
            with self.subTest(**load):
                self.check(done)

    @needs_version2
    def test_by_version_2(self):
        loads = [{'workload': workload, 'size': size, 'protocol': protocol}
                 for protocol, workload, size in itertools.product(('v2', 'auto'), WORKLOADS,
                                                                   ('0', '1', '1000', '4096',
                                                                    '5000', '70001'))]
        for load, done in run_each(loads):
            with self.subTest(**load):
                result = self.check(done)
                self.assertEqual(result['protocol'], load['protocol'])

    @needs_version2
    def test_by_the_extension(self):
        sizes = {'continuation': ('0', '1', '1000', '4096', '5000', '16384', '31000', '70001'),
                 'direction': ('0', '255', '256', '70001'),
                 'placement': ('0', '255', '4096', '8192', '70001'),
                 'all': ('1', '256', '4096', '70001')}
        loads = [{'workload': workload, 'size': size, 'protocol': 'v2', 'extension': extension}
                 for extension in sizes for workload in WORKLOADS for size in sizes[extension]]
        for load, done in run_each(loads):
            with self.subTest(**load):
                self.check_extension(load, self.check(done))

    def check_extension(self, load, result):
        workload, size, extension = load['workload'], load['size'], load['extension']
        self.assertEqual(result['extension'], extension)
        counters = result['counters']
        if workload in ('read', 'write', 'mixed') and size == '70001':
            # The data are longer than the targets. With placement, only results then have
            # directions with memory, of a type that depends on their size.
            directs = extension in ('direction',
                                    'all') or (extension == 'placement' and workload != 'write')
            self.assertEqual(counters['directed_calls'] > 0, directs)
        if workload in ('read', 'write') and size in ('4096',
                                                      '8192') and extension in ('placement', 'all'):
            self.assertGreater(counters['placed_sent' if workload == 'write'
                                        else 'placed_received'], 200)
            self.assertEqual(counters['writes'] + counters['reads'], 0)
            self.assertEqual(counters['bulk_copies'], 0)
        if extension in ('direction', 'placement'):
            return
        if workload == 'echo' and 4096 <= int(size) <= 31000:
            self.assertGreater(counters['groups_received'], 0)
            self.assertGreater(counters['continued_calls'], 0)
        if workload == 'list' and 4096 <= int(size) <= 16384:
            self.assertGreater(counters['groups_received'], 0)
            self.assertEqual(counters['long_replies'] + counters['writes'], 0)
        if workload == 'echo' and size == '70001':
            self.assertGreater(counters['fallbacks_limits'], 0)


if __name__ == '__main__':
    unittest.main(verbosity=1)
