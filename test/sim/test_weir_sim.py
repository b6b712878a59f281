#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-sim as a program: seeds replay exactly, options are checked, and the output can be
parsed. Argument: the program."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from versions import needs_version2

PROGRAM = None


def sim(*args):
    return subprocess.run([PROGRAM, *args], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=100)


def results(*args):
    done = sim('--json', *args)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class Replay(unittest.TestCase):
    def test_a_seed_is_one_course_of_events_at_each_level(self):
        for level in '0123':
            once = results('--seeds', '1..10', '--faults', level)
            again = results('--seeds', '1..10', '--faults', level)
            self.assertEqual(once, again)
            self.assertEqual(len({result['hash'] for result in once}), 10)

    def test_a_seed_does_not_depend_on_those_before_it(self):
        self.assertEqual(results('--seed', '7'), results('--seeds', '1..7')[6:])

    def test_the_trace_is_the_same(self):
        once, again = (sim('--seed', '3', '--steps', '300', '--verbose', 'trace').stdout
                       for _ in range(2))
        self.assertEqual(once, again)
        self.assertGreater(once.count('\n'), 300)


class Levels(unittest.TestCase):
    def test_without_faults_all_calls_are_answered(self):
        for result in results('--seeds', '1..10', '--faults', '0'):
            self.assertEqual(result['injected'], 0)
            self.assertEqual(result['calls'], result['replies'])
            self.assertGreater(result['calls'], 0)

    def test_a_long_run_has_calls_left_for_its_end(self):
        result, = results('--seed', '3', '--steps', '30000', '--faults', '1')
        self.assertGreater(result['calls'] + result['refused'], 4000)
        self.assertGreater(result['proven'], 0)

    def test_with_faults_they_befall(self):
        runs = results('--seeds', '1..30', '--faults', '3')
        for what in ('injected', 'lost', 'timed_out', 'refused', 'kills', 'orphans', 'err_chunk',
                     'replies', 'reconnected', 'resent', 'given_up', 'replays', 'cancelled'):
            self.assertGreater(sum(result[what] for result in runs), 0, what)


@needs_version2
class Versions(unittest.TestCase):
    def test_faults_are_survived_by_each(self):
        for protocol in ('v2', 'mixed'):
            runs = results('--seeds', '1..40', '--protocol', protocol)
            for what in ('injected', 'replies', 'lost', 'reconnected', 'resent', 'replays'):
                self.assertGreater(sum(result[what] for result in runs), 0, what)

    def test_calls_and_replies_are_continued_under_faults(self):
        for protocol in ('v2', 'mixed'):
            runs = results('--seeds', '1..40', '--protocol', protocol, '--extension',
                           'continuation')
            for what in ('injected', 'replies', 'lost', 'reconnected', 'resent', 'replays',
                         'continued', 'fallbacks'):
                self.assertGreater(sum(result[what] for result in runs), 0, what)
        for result in results('--seeds', '1..5', '--protocol', 'v2'):
            self.assertEqual(result['continued'], 0)

    def test_results_are_directed_under_faults(self):
        for protocol, extension in (('v2', 'direction'), ('v2', 'placement'), ('v2', 'all'),
                                    ('mixed', 'all')):
            runs = results('--seeds', '1..40', '--protocol', protocol, '--extension', extension)
            if extension != 'direction':
                self.assertGreater(sum(run['placed'] for run in runs), 0)
            for what in ('injected', 'replies', 'lost', 'reconnected', 'resent', 'replays',
                         'directed'):
                self.assertGreater(sum(result[what] for result in runs), 0, what)


class Options(unittest.TestCase):
    def test_wrong_ones_are_refused(self):
        for args in (['--seed', 'x'], ['--seed', '-1'], ['--seeds', '9..1'], ['--seeds', '1-2'],
                     ['--faults', '4'], ['--steps', '99999999999'], ['--fresh', '0'], ['--unknown'],
                     ['stray'], ['--plant', '13'], ['--protocol', 'v3'], ['--extension', 'on'],
                     ['--seeds-from', '/nonexistent/seeds']):
            done = sim(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertNotEqual(done.stderr, '')

    def test_an_extension_is_of_version_2(self):
        for extension in ('continuation', 'direction', 'placement', 'all'):
            for args in (['--extension', extension],
                         ['--extension', extension, '--protocol', 'v1']):
                done = sim(*args)
                self.assertEqual((done.returncode, done.stdout), (2, ''), args)
                self.assertIn(f"no extension '{extension}': add --protocol v2", done.stderr)
        self.assertEqual(results('--protocol', 'v1', '--extension', 'off'), results())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'seeds')

            def lines(text):
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(text)

            for text, args in (('3\n4 100 3 v1 all\n', []), ('3\n4\n', ['--extension', 'all'])):
                lines(text)
                done = sim('--seeds-from', path, *args)
                self.assertEqual(done.returncode, 2, text)
                self.assertIn(f":{1 if args else 2}: version 1 has no extension 'all': give the "
                              "line v2", done.stderr)

    def test_help_names_them(self):
        done = sim('--help')
        self.assertEqual(done.returncode, 0)
        for option in ('--seed', '--seeds', '--fresh', '--seeds-from', '--steps', '--faults',
                       '--plant', '--protocol', '--extension', '--json'):
            self.assertIn(option, done.stdout)

    def test_seeds_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'seeds')
            with open(path, 'w', encoding='utf-8') as file:
                file.write('# a comment\n\n3\n4 100\n5 50 0 # another\n')
            runs = results('--seeds-from', path)
            self.assertEqual([(r['seed'], r['steps'], r['faults']) for r in runs],
                             [(3, 2000, 3), (4, 100, 3), (5, 50, 0)])
            for wrong in ('nonsense', '3 steps', '3 100 4', '3 100 3 v3', '3 100 3 v2 on',
                          '3 100 3 v2 off 1', '-3', '3x', '3 4x', '3 100 -1'):
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(wrong + '\n')
                self.assertEqual(sim('--seeds-from', path).returncode, 2, wrong)

    @needs_version2
    def test_seeds_of_version_2_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'seeds')
            with open(path, 'w', encoding='utf-8') as file:
                file.write('3\n2 2000 3 v2\n2 2000 3 v2 continuation\n')
            self.assertEqual(results('--seeds-from', path), results('--seed', '3') +
                             results('--seed', '2', '--protocol', 'v2') +
                             results('--seed', '2', '--protocol', 'v2', '--extension',
                                     'continuation'))
            with open(path, 'w', encoding='utf-8') as file:
                file.write('3 50 3 v2\n3 50 3 v1 off\n')  # each line is one run
            self.assertEqual(len(results('--seeds-from', path, '--extension', 'all')), 2)

    def test_fresh_seeds_say_where_they_begin(self):
        done = sim('--fresh', '2', '--steps', '50')
        self.assertEqual(done.returncode, 0, done.stderr)
        first = int(done.stdout.split('seeds from ')[1].split()[0])
        self.assertGreater(first, 1 << 40)


if __name__ == '__main__':
    PROGRAM = sys.argv.pop()
    unittest.main()
