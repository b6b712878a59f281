#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/run-tests and tools/count-tests.py on a small meson project: which tests are run again, and
what is reported."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(sys.argv.pop(1))
PROJECT = """project('small')
sh = find_program('sh')
foreach name, script : {%s}
  test(name, sh, args: ['-c', script])
endforeach
"""
# Passes from its second run on.
SECOND = ('test -e %(dir)s/%(name)s && exit 0; touch %(dir)s/%(name)s; echo first try of %(name)s; '
          'exit 1')


class RunTests(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)

    def run_and_count(self, scripts, *arguments):
        """Returns the status of run-tests, that of count-tests.py, and the lines of the latter."""
        (self.dir / 'meson.build').write_text(PROJECT % ', '.join(
            "'%s': '%s'" % (name, script % {'dir': self.dir, 'name': name})
            for name, script in scripts.items()))
        build = self.dir / 'build'
        subprocess.run(['meson', 'setup', build, self.dir], check=True, stdout=subprocess.DEVNULL)
        status = subprocess.run([TOOLS / 'run-tests', build, *arguments], check=False).returncode
        count = subprocess.run([TOOLS / 'count-tests.py', build / 'meson-logs' / 'testlog.json'],
                               check=False, stdout=subprocess.PIPE, text=True)
        return status, count.returncode, count.stdout.splitlines()

    def test_all_pass(self):
        status, count, lines = self.run_and_count({'one': 'exit 0', 'two': 'exit 77'})
        self.assertEqual((status, count, lines), (0, 0, ['1 passed, 0 failed, 1 skipped']))

    def test_second_run_passes(self):
        status, count, lines = self.run_and_count({'one': 'exit 0', 'two': SECOND}, '-t', '3')
        self.assertEqual((status, count, lines[-1]), (0, 0, '2 passed, 0 failed, 0 skipped'))
        self.assertIn('unsteady', lines[0])
        self.assertIn('two', lines[0])
        self.assertIn('first try of two', '\n'.join(lines))

    def test_second_attempt_of_its_own_is_named(self):
        status, count, lines = self.run_and_count({'one': 'echo "unsteady: attempt 1 of 2"'})
        self.assertEqual((status, count, lines[-1]), (0, 0, '1 passed, 0 failed, 0 skipped'))
        self.assertRegex(lines[0], r'^unsteady: .*one.*: attempt 1 of 2$')

    def test_second_run_fails(self):
        status, count, lines = self.run_and_count({'one': 'exit 0', 'two': 'exit 1',
                                                   'three': SECOND})
        self.assertEqual((status, count, lines[-1]), (1, 1, '2 passed, 1 failed, 0 skipped'))

    def check_report(self, report):
        status, count, lines = self.run_and_count({'one': 'echo "%s"; ' % report + SECOND})
        self.assertEqual((status, count, lines[-1]), (1, 1, '0 passed, 1 failed, 0 skipped'))

    def test_report_of_a_race_is_not_run_again(self):
        self.check_report('WARNING: ThreadSanitizer: data race')

    def test_report_of_the_undefined_is_not_run_again(self):
        self.check_report('x.c:1:2: runtime error: shift')

    def test_many_are_not_run_again(self):
        scripts = {name: SECOND for name in ('one', 'two', 'three', 'four')}
        status, count, lines = self.run_and_count(scripts)
        self.assertEqual((status, count, lines[-1]), (1, 1, '0 passed, 4 failed, 0 skipped'))

    def test_no_test(self):
        (self.dir / 'meson.build').write_text("project('small')\n")
        status, count, lines = self.run_and_count({})
        self.assertEqual((status, count), (1, 1))
        self.assertEqual(lines[-1], '0 passed, 1 failed, 0 skipped')


if __name__ == '__main__':
    unittest.main()
