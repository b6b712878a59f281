#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the files that weir-bench writes: the data of --csv equal those of --json, and a browser
without a network displays --html."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser

BENCH = sys.argv.pop(1)
QUICK = ['--quiet', '--lcores', 'any', '--calls']
PLOTS = ('percentiles', 'histogram', 'throughput', 'sweep')
CHROMIUM = shutil.which('chromium')
FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--disable-dev-shm-usage', '--virtual-time-budget=5000', '--enable-logging=stderr',
         '--host-resolver-rules=MAP * ~NOTFOUND', '--hide-scrollbars']


def run(*args):
    return subprocess.run([BENCH, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)


class Dom(HTMLParser):
    """The parts of a page that the tests check: its title, and the number of each element in each
    figure."""

    def __init__(self, text):
        super().__init__()
        self.title = ''
        self.figures = {}
        self.references = []
        self.figure = None
        self.tag = None
        self.rows = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tag = tag
        self.references += [attrs[key] for key in ('src', 'href', 'action', 'data') if key in attrs]
        self.rows += tag == 'tr'
        if tag == 'figure':
            self.figure = self.figures.setdefault(attrs.get('id'), [])
        elif self.figure is not None:
            self.figure.append((tag, attrs))

    def handle_endtag(self, tag):
        self.tag = None
        if tag == 'figure':
            self.figure = None

    def handle_data(self, data):
        if self.tag == 'title' and self.figure is None:
            self.title += data


def browse(path, *args):
    """Returns the DOM of the page after its scripts have run, and their output on the console."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([CHROMIUM, *FLAGS, f'--user-data-dir={profile}', *args, '--dump-dom',
                               f'file://{path}'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=300, stdin=subprocess.DEVNULL)
    return Dom(done.stdout), [line for line in done.stderr.splitlines() if 'CONSOLE' in line]


class Csv(unittest.TestCase):
    def test_a_row_for_each_run_as_in_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'out.json')
            done = run('--workload', 'mixed', '--size', '100,200', '--repeat', '2', '--json', path,
                       '--csv', '-', *QUICK, '50')
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding='utf-8') as file:
                points = json.load(file)['points']
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([(row['size'], row['run'], row['calls']) for row in rows],
                         [(str(size), str(number), '50') for size in (100, 200)
                          for number in (1, 2)])
        runs = [run for point in points for run in point['runs']]
        for row, result in zip(rows, runs):
            self.assertAlmostEqual(float(row['rpc_per_s']), result['rpc_per_s'], delta=0.06)
            for key, value in result['rtt_ns'].items():
                self.assertAlmostEqual(float(row[f'{key}_ns']), value, delta=1)

    def test_files_are_tried_before_the_load(self):
        for option in ('--csv', '--html'):
            done = run(option, '/no/such/folder/out', '--time', '86400', '--lcores', 'any')
            self.assertEqual((done.returncode, done.stdout), (1, ''))
            self.assertIn('/no/such/folder/out', done.stderr)
        for reports in (['--csv', '-', '--json', '-'], ['--csv', 'x', '--json', 'x'],
                        ['--html', 'x', '--csv', 'x'],
                        ['--html', '-'], ['--csv', '/dev/stdout', '--json', '/dev/stdout'],
                        ['--csv', '/dev/shm/weir-x', '--json', '/dev/shm/weir-x']):
            done = run(*reports, *QUICK, '5') # a report would be lost, or two be mixed
            self.assertEqual((done.returncode, done.stdout), (2, ''))
        self.assertEqual(run('--csv', '/dev/null', '--json', '/dev/null', *QUICK, '5').returncode,
                         0)

    def test_a_report_stays_until_there_is_a_new_one(self):
        with tempfile.TemporaryDirectory() as folder:
            for option in ('--json', '--csv', '--html'):
                path = os.path.join(folder, 'report')
                fails = ['--connect', 'weir-test-nobody', '--quiet', '--lcores', 'any', option,
                         path]
                self.assertEqual(run(*fails).returncode, 1)
                self.assertEqual(os.listdir(folder), [])
                with open(path, 'w', encoding='utf-8') as file:
                    file.write('what was there')
                self.assertEqual(run(*fails).returncode, 1)
                with open(path, encoding='utf-8') as file:
                    self.assertEqual(file.read(), 'what was there')
                done = run(option, path, *QUICK, '5')
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(path, encoding='utf-8') as file:
                    self.assertNotIn('what was there', file.read())
                self.assertEqual(os.listdir(folder), ['report'])
                os.unlink(path)
                done = run(option, '/dev/full', *QUICK, '5')
                self.assertEqual(done.returncode, 1)
                self.assertIn("can't write '/dev/full'", done.stderr)


class Table(unittest.TestCase):
    def test_one_that_can_not_be_written_is_said(self):
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run([BENCH, *QUICK, '100'], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1)
        self.assertIn("can't write the table", done.stderr)

    def test_two_reports_are_not_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b = os.path.join(folder, 'a'), os.path.join(folder, '.', 'a')
            for option in ('--csv', '--html'):
                done = run(*QUICK, '100', '--json', a, option, b)
                self.assertEqual((done.returncode, os.listdir(folder)), (2, []), done.stderr)
            os.mknod(a)
            os.link(a, os.path.join(folder, 'b'))
            done = run(*QUICK, '100', '--json', a, '--csv', os.path.join(folder, 'b'))
            self.assertEqual((done.returncode, os.path.getsize(a)), (2, 0), done.stderr)
            done = run(*QUICK, '100', '--json', a, '--csv', os.path.join(folder, 'c'))
            self.assertEqual(done.returncode, 0, done.stderr)


class Memory(unittest.TestCase):
    def test_more_than_there_is_is_said_before_it_is_taken(self):
        done = run(*QUICK, '100', '--workload', 'write', '--size', '4k,64m', '--depth', '1,1024')
        self.assertEqual((done.returncode, done.stdout), (1, ''), done.stderr)
        self.assertRegex(done.stderr, r'67108864 bytes at depth 1024 with 1 connection need about '
                         r'\d+ MiB of memory, but \d+ MiB are available')

    def test_large_calls_take_what_they_need(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'json')
            done = run(*QUICK, '3', '--workload', 'write', '--size', '64m', '--json', path)
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted = [int(mib)
                      for mib in re.findall(r'too few free hugepages for (\d+) MiB', done.stderr)]
            self.assertTrue(all(mib < 1024 for mib in wanted), done.stderr)


class Html(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def page(self, *args, status=0):
        path = os.path.join(self.folder.name, f'{self._testMethodName}.html')
        done = run('--html', path, '--quiet', '--lcores', 'any', *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return path

    def test_it_needs_nothing_else(self):
        with open(self.page('--calls', '50'), encoding='utf-8') as file:
            text = file.read()
        self.assertEqual(Dom(text).references, [])
        # The only address is the name of the namespace of SVG, which nobody fetches.
        self.assertEqual(set(re.findall(r'\w+://[^\s\'"<>]*', text)),
                         {'http://www.w3.org/2000/svg'})
        self.assertIsNone(re.search(r'@import|url\(|\bfetch\(|XMLHttpRequest|\bimport\(', text))
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                         re.S).group(1)
        self.assertEqual(json.loads(data)['points'][0]['calls'], 50)

    @unittest.skipUnless(CHROMIUM, 'chromium is not installed')
    def test_what_the_browser_says_is_seen(self):
        path = os.path.join(self.folder.name, 'wrong.html')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('<!DOCTYPE html><title>wrong</title><script>no_such_function();</script>')
        dom, said = browse(path)
        self.assertEqual(dom.title, 'wrong')
        self.assertIn('no_such_function', ''.join(said))

    @unittest.skipUnless(CHROMIUM, 'chromium is not installed')
    def test_all_four_plots_of_a_sweep(self):
        dom, said = browse(self.page('--workload', 'read', '--size', '512:8k:x4', '--depth', '1,8',
                                     '--repeat', '2', '--time', '0.1', '--warmup', '0.02',
                                     '--threshold', 'p50<1000s'))
        self.assertEqual(said, [])
        self.assertEqual(dom.title, 'weir-bench: read over shm')
        self.assertEqual(set(dom.figures), set(PLOTS))
        self.assertEqual(dom.rows, 1 + 6)
        for name, elements in dom.figures.items():
            tags = [tag for tag, _ in elements]
            self.assertEqual(tags.count('svg'), 2 if name == 'sweep' else 1, name)
            for tag, attrs in elements:
                for value in attrs.values():
                    self.assertNotRegex(value or '', r'NaN|Infinity|undefined', (name, tag))
        curves = {name: [attrs['d'] for tag, attrs in elements if attrs.get('class') == 'curve']
                  for name, elements in dom.figures.items()}
        self.assertEqual(len(curves['percentiles']), 6)
        self.assertEqual(len(curves['throughput']), 2)
        self.assertEqual(len(curves['sweep']), 2 * 2)
        # A curve over three sizes has two lines.
        self.assertTrue(all(path.count('L') == 2 for path in curves['sweep']), curves['sweep'])
        self.assertTrue(all(path.count('L') > 1 for path in curves['percentiles']))
        self.assertGreater([tag for tag, _ in dom.figures['histogram']].count('rect'), 1)
        self.assertEqual([tag for tag, _ in dom.figures['sweep']].count('circle'), 2 * 6)

    @unittest.skipUnless(CHROMIUM, 'chromium is not installed')
    def test_without_a_sweep_with_little_and_with_nothing(self):
        for args, status in ((['--calls', '1'], 0),
                             (['--rate', '100m', '--time', '0.1', '--warmup', '0'], 0),
                             (['--rate', '1', '--time', '0.001', '--warmup', '0', '--threshold',
                               'p50<1ns'], 3)):
            with self.subTest(args=args):
                dom, said = browse(self.page(*args, status=status))
                self.assertEqual(said, [])
                for name in PLOTS:
                    self.assertIn('svg', [tag for tag, _ in dom.figures[name]], name)
                    for tag, attrs in dom.figures[name]:
                        self.assertFalse(re.search('NaN|Infinity|undefined',
                                                   ' '.join(v or '' for v in attrs.values())),
                                         (name, tag))


if __name__ == '__main__':
    unittest.main(verbosity=1)
