#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-bench --overview: its table, its JSON, what it refuses, and how disturbances are
reported."""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import bench_tools
from bench_tools import BENCH, Case, run

Case.validator = bench_tools.read_schema(sys.argv.pop(1))
SHORT = ['--overview', '--quiet', '--time', '0.05', '--warmup', '0.01']
LOADS = [('null', 64, 1), ('read', 4096, 1), ('write', 4096, 1), ('read', 4096, 32),
         ('write', 4096, 32), ('mixed', 4096, 32), ('read', 1 << 20, 8), ('write', 1 << 20, 8)]


class Overview(Case):
    def test_table_fits_a_terminal(self):
        done = run(*SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80, done.stdout)
        heading = next(i for i, line in enumerate(lines) if line.startswith('load '))
        rows = [line.split() for line in lines[heading + 1:heading + 1 + len(LOADS)]]
        for row, (name, size, depth) in zip(rows, LOADS):
            if name == 'mixed':
                self.assertEqual(row[:2], ['70/30', 'mix'])
                del row[0]
                name = 'mix'
            self.assertEqual(row[:3], [name, {64: '64', 4096: '4k', 1 << 20: '1m'}[size],
                                       str(depth)])
            for figure in row[3:4] + row[5:9]:
                if row[-1] != '!':  # perhaps nothing was called in so short a time
                    self.assertGreater(float(figure), 0, row)
        self.assertTrue(lines[heading + 1 + len(LOADS)].startswith('Disturbed: '))
        self.assertTrue([line for line in lines if line.startswith('Machine: ')])
        self.assertTrue(lines[-1].startswith('Try next: weir-bench '))

    def test_the_command_that_it_suggests_is_valid(self):
        last = run(*SHORT).stdout.splitlines()[-1].split(': ', 1)[1].split()
        self.assertEqual(last[0], 'weir-bench')
        done = run(*last[1:], '--show-profile')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_lines_of_the_log_appear_once(self):
        """Both sides, and the engines of all loads, would write the line about the exposure."""
        done = run(*SHORT, '--repeat', '2')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("exposure policy 'pool'"), 1, done.stderr)
        self.assertLessEqual(done.stderr.count('ordinary pages'), 1, done.stderr)

    def test_json_names_each_load(self):
        result = self.measure(*SHORT, '--verify')
        self.assertEqual(result['workload'], 'overview')
        self.assertEqual([(p['workload'], p['size'], p['depth']) for p in result['points']], LOADS)

    def test_refused_together(self):
        for option in (['--workload', 'read'], ['--size', '4k'], ['--depth', '2'],
                       ['--rate', '1000'], ['--think', '1us'], ['--calls', '10'],
                       ['--ratio', '50']):
            self.refuses('--overview has loads of its own', '--overview', *option)
        self.refuses('start the responder with --listen', '--overview', '--listen', 'x')
        self.refuses('takes one number', '--overview', '--connections', '1,2')

    def test_a_responder_elsewhere(self):
        address = f'overview-{os.getpid()}'
        with subprocess.Popen([BENCH, '--listen', address, '--size', '1m', '--depth', '32',
                               '--lcores', 'any', '--quiet'], stderr=subprocess.PIPE) as responder:
            try:
                for _ in range(100):
                    done = run(*SHORT, '--connect', address, '--lcores', 'any')
                    if done.returncode == 0:
                        break
                    time.sleep(0.1)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn('responder elsewhere', done.stdout)
                self.assertNotIn('Machine', done.stdout)
            finally:
                responder.send_signal(signal.SIGINT)
                responder.communicate(timeout=30)

    def test_a_signal_prints_the_rows_so_far(self):
        with subprocess.Popen([BENCH, '--overview', '--time', '1', '--warmup', '0', '--quiet'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
            time.sleep(3)  # the loads take 8 seconds
            bench.send_signal(signal.SIGINT)
            out, err = bench.communicate(timeout=60)
        self.assertEqual(bench.returncode, 128, err)
        if 'before anything was measured' not in err:
            self.assertIn('INTERRUPTED', out)
            self.assertIn('\nnull ', out)


class Disturbance(Case):
    CORE = str(min(os.sched_getaffinity(0)))

    def test_a_program_on_the_same_cpu_makes_figures_unreliable(self):
        """The other program has half of the CPU, so that a poll is late by many ms."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest('threads that share one CPU yield, and are not judged')
        with subprocess.Popen([sys.executable, '-c',
                               f'import os\nos.sched_setaffinity(0, [{self.CORE}])\n'
                               'while True:\n    pass\n']) as other:
            try:
                result = self.measure('--time', '1', '--warmup', '0.1', '--quiet')
                run_ = result['points'][0]['runs'][0]
                self.assertFalse(run_['disturbance']['reliable'], run_['disturbance'])
                self.assertTrue(run_['disturbance']['why'])
                self.assertGreater(run_['disturbance']['context_switches'], 0)
                self.assertGreater(run_['disturbance']['longest_gap_ns'], 100000)
                done = run('--time', '1', '--warmup', '0.1', '--quiet')
                self.assertIn('  UNRELIABLE ', done.stdout)
            finally:
                other.kill()

    def test_threads_that_yield_are_not_judged_by_switches(self):
        done = subprocess.run(['taskset', '-c', self.CORE, BENCH, '--time', '0.5', '--warmup',
                               '0.1', '--quiet', '--json', '-'], stdout=subprocess.PIPE, timeout=60,
                              stderr=subprocess.PIPE, check=True, text=True)
        disturbance = json.loads(done.stdout)['points'][0]['disturbance']
        self.assertIsNone(disturbance['context_switches'])
        self.assertIsNone(disturbance['longest_gap_ns'])


if __name__ == '__main__':
    unittest.main()
