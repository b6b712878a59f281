#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the static probes: weir-bench contains those that doc/probes.rst lists, with as many
arguments, and the scripts for bpftrace see the events of a run. The scripts need root and a kernel
with uprobes."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

BENCH, EVENTS, TIMES, PAGE = (os.path.abspath(path) for path in sys.argv[1:5])
del sys.argv[1:5]
CALLS = 500


def run(*args, timeout=120):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)


def listed():
    """Returns the number of arguments of each probe of the page."""
    text = pathlib.Path(PAGE).read_text(encoding='utf-8')
    return {name: arguments.count(',') + 1 for name, arguments in
            re.findall(r'^   \* - ``(\w+)``\n     - (.*)', text, re.M)}


def compiled():
    notes = run('readelf', '-n', BENCH).stdout
    found = {}
    for name, arguments in re.findall(
            r'Provider: weir\n +Name: (\w+)\n.*\n +Arguments: (.*)', notes):
        found.setdefault(name, set()).add(len(re.findall(r'-?\d+@', arguments)))
    return found


def why_not():
    if os.geteuid() != 0:
        return 'only root can trace'
    if not shutil.which('bpftrace'):
        return 'bpftrace is not installed'
    done = run('bpftrace', '-e', f'usdt:{BENCH}:weir:call_sent {{ }} BEGIN {{ exit(); }}')
    return None if done.returncode == 0 else f'bpftrace cannot trace here: {done.stdout}'


class Probes(unittest.TestCase):
    def test_each_listed_one_is_compiled(self):
        self.assertGreater(len(listed()), 5)
        self.assertEqual(compiled(), {name: {count} for name, count in listed().items()})


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if why_not():
            raise unittest.SkipTest(why_not())

    def trace(self, script, *args):
        load = [BENCH, '--threads', '--lcores', 'any', '--quiet', '--calls', str(CALLS), *args]
        done = run('bpftrace', '-c', shlex.join(load), script, BENCH)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_times(self):
        out = self.trace(TIMES)
        for name in ('calls_us', 'requests_us'):
            histogram = re.search(rf'@{name}\[\d+\]: *\n((?:[\[(].*\n)+)', out)
            self.assertTrue(histogram, out)
            counts = re.findall(r'^[\[(].*?[\])] +(\d+) \|', histogram.group(1), re.M)
            self.assertEqual(sum(map(int, counts)), CALLS, out)

    def test_times_of_the_general_path(self):
        out = self.trace(TIMES, '--workload', 'list', '--size', '64k')
        self.assertIn('@calls_us', out)
        self.assertIn('@requests_us', out)

    def test_events(self):
        out = self.trace(EVENTS)
        for text in ('open: requester, version 1', 'open: responder, version 1',
                     'closed: error'):
            self.assertIn(text, out)
        self.assertIn(f'@calls: {CALLS}\n', out)
        self.assertIn(f'@replies: {CALLS}\n', out)


if __name__ == '__main__':
    unittest.main()
