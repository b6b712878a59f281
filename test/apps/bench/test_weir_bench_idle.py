#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the threads of weir-bench: their names and cores, and what they do without work."""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

from bench_tools import BENCH, Case, read_schema, some_lcores

POLICIES = ('event', 'adaptive')


def profile(idle):
    """Returns a file with a profile that has this idle policy."""
    file = tempfile.NamedTemporaryFile('w', suffix='.ini')
    file.write(f'[engine]\nidle = {idle}\n')
    file.flush()
    return file


def threads_of(pid):
    """Returns what the kernel reports about each thread of a process, by the thread's name."""
    threads = {}
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/status', encoding='utf-8') as file:
            status = dict(re.findall(r'^(\w+):\t(.*)$', file.read(), re.M))
        threads[status['Name']] = status
    return threads


class Threads(Case):
    def start(self, *args):
        process = subprocess.Popen([BENCH, *args], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_each_has_its_core_and_a_name(self):
        lcores = some_lcores(2)
        if lcores == 'any':
            self.skipTest('this machine has one core')
        first, second = lcores.split(',')
        process = self.start('--threads', '--lcores', f'{second},{first}', '--time', '600')
        expected = {f'bench-req-{second}': second, f'bench-resp-{first}': first}
        for _ in range(600):
            threads = threads_of(process.pid)
            if process.poll() is not None or expected.keys() <= threads.keys():
                break
            time.sleep(0.1)
        self.assertEqual({name: threads[name]['Cpus_allowed_list'] for name in expected}, expected)

    def test_a_responder_without_calls_sleeps(self):
        """A thread that naps for 50 us sleeps about ten thousand times in a second."""
        for idle in POLICIES:
            with self.subTest(idle=idle), profile(idle) as file:
                process = self.start('--listen', f'weir-test-idle-{os.getpid()}', '--lcores',
                                     'any', '--profile', file.name)
                self.assertTrue(any('responder on' in line for line in process.stderr))
                time.sleep(0.5)
                before = int(threads_of(process.pid)['bench-resp-0']['voluntary_ctxt_switches'])
                time.sleep(1)
                after = int(threads_of(process.pid)['bench-resp-0']['voluntary_ctxt_switches'])
                self.assertLess(after - before, 100)
                self.assertGreater(after - before, 0)
                process.terminate()
                self.assertEqual(process.wait(timeout=30), 0)

    def test_calls_start_in_time(self):
        """Without other work, a thread would sleep for 100 ms: ten calls would start in a second,
        and half of the calls that are due would wait for 50 ms or more."""
        for idle in POLICIES:
            with self.subTest(idle=idle), profile(idle) as file:
                common = ['--lcores', 'any', '--quiet', '--profile', file.name, '--time', '1']
                point = self.measure('--think', '5ms', *common)['points'][0]
                self.assertGreater(point['calls'], 20)
                point = self.measure('--rate', '40', *common)['points'][0]
                self.assertEqual(point['calls'], 40)
                self.assertLess(point['rtt_ns']['p50'], 40000000)


if __name__ == '__main__':
    Case.validator = read_schema(sys.argv.pop(1))
    unittest.main(verbosity=2)
