#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests --fio-json of weir-bench: its figures equal those of --json, it has the members that fio
writes, and Debian's tools of fio read it. Argument: weir-bench."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH = os.path.abspath(sys.argv.pop(1))
FIO = shutil.which('fio')
CLAT2CSV = shutil.which('fio_jsonplus_clat2csv')
LATENCIES = ('latency_ns', 'latency_us', 'latency_ms')
DIRECTIONS = ('read', 'write', 'trim')


def shape(value, where=''):
    """Returns the paths of all members with their types. Buckets are left out, because their
    number varies."""
    if isinstance(value, dict):
        found = set()
        for key, member in value.items():
            if where.endswith('/bins'):
                continue
            found |= shape(member, f'{where}/{key}')
        return found
    return {(where, type(value).__name__)}


class FioJson(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_bench(self, *args, status=0):
        done = subprocess.run([BENCH, '--lcores', 'any', '--quiet', *args],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, cwd=self.folder, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def measure(self, *args):
        self.run_bench('--calls', '300', '--fio-json', 'fio.json', '--json', 'own.json', *args)
        reports = []
        for name in 'fio.json', 'own.json':
            with open(self.path(name), encoding='ascii') as file:
                reports.append(json.load(file))
        return reports

    def check_direction(self, job, own, direction):
        figures = job[direction]
        self.assertEqual(figures['total_ios'], own['calls'])
        self.assertEqual(figures['clat_ns']['N'], own['calls'])
        self.assertAlmostEqual(figures['iops'], own['rpc_per_s'], delta=own['rpc_per_s'] / 100)
        self.assertAlmostEqual(figures['bw_bytes'], own['bytes_per_s'],
                               delta=own['bytes_per_s'] / 100)
        for percent, name in (('50.000000', 'p50'), ('99.000000', 'p99'), ('99.900000', 'p999')):
            self.assertAlmostEqual(figures['clat_ns']['percentile'][percent], own['rtt_ns'][name],
                                   delta=1)
        self.assertEqual({int(low): n for low, n in figures['clat_ns']['bins'].items()},
                         {low: n for low, n in own['rtt_histogram']})
        self.assertAlmostEqual(sum(sum(job[name].values()) for name in LATENCIES), 100, places=3)
        self.assertAlmostEqual(figures['lat_ns']['mean'], own['rtt_ns']['mean'], delta=1)
        self.assertGreater(figures['lat_ns']['stddev'], 0)

    def test_figures(self):
        for workload in 'read', 'write':
            fio, own = self.measure('--workload', workload, '--size', '4k,16k', '--depth', '4')
            self.assertEqual([job['job options']['bs'] for job in fio['jobs']], ['4096', '16384'])
            for job, point in zip(fio['jobs'], own['points']):
                self.check_direction(job, point, workload)
                self.assertEqual(job['job options']['rw'], 'rand' + workload)
                self.assertEqual(job['job options']['iodepth'], '4')
                for other in set(DIRECTIONS) - {workload}:
                    self.assertEqual(job[other]['total_ios'], 0)

    def test_mixed(self):
        fio, own = self.measure('--workload', 'mixed', '--size', '4k')
        job, = fio['jobs']
        self.assertFalse(set(DIRECTIONS) & set(job))
        self.check_direction(job, own['points'][0], 'mixed')

    def test_what_cannot_be_written(self):
        for workload in 'null', 'echo', 'list':
            done = self.run_bench('--workload', workload, '--fio-json', 'x', status=2)
            self.assertIn('use --workload read, write or mixed', done.stderr)
        done = self.run_bench('--workload', 'read', '--fio-json', 'x', '--json', 'x', status=2)
        self.assertIn('another report has the same file', done.stderr)
        self.run_bench('--workload', 'read', '--fio-json', '/no/such/folder/x', status=1)

    @unittest.skipUnless(FIO, 'fio is not installed')
    def test_members_are_those_of_fio(self):
        for workload, unified in ('read', 'none'), ('mixed', 'mixed'):
            done = subprocess.run([FIO, '--name=x', '--ioengine=null', '--size=1m', '--rw=randrw',
                                   f'--unified_rw_reporting={unified}',
                                   '--output-format=json+'], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True, check=True, timeout=60,
                                  cwd=self.folder)
            theirs = json.loads(done.stdout)
            ours, _ = self.measure('--workload', workload, '--size', '4k')
            self.assertEqual(set(theirs) - set(ours), set())
            theirs, ours = theirs['jobs'][0], ours['jobs'][0]
            self.assertEqual(set(ours) - set(theirs), set())
            direction = 'read' if workload == 'read' else 'mixed'
            self.assertEqual(shape(ours[direction]), shape(theirs[direction]))
            for name in LATENCIES:
                self.assertEqual(shape(ours[name]), shape(theirs[name]))

    @unittest.skipUnless(CLAT2CSV, 'the tools of fio are not installed')
    def test_a_tool_of_fio_reads_it(self):
        self.measure('--workload', 'read', '--size', '4k,16k')
        for option in [], ['--validate']:
            subprocess.run([CLAT2CSV, *option, 'fio.json', 'out.csv'], check=True, timeout=60,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=self.folder)
        self.assertTrue(os.path.exists(self.path('out_job1.csv')))


if __name__ == '__main__':
    unittest.main()
