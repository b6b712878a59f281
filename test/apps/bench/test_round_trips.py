#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-round-trips: the round trips that version 2's extension saves, and the command
line."""

import csv
import io
import subprocess
import sys
import unittest

from versions import needs_version2

PROGRAM = None


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, timeout=60, check=False, text=True)


@needs_version2
class RoundTrips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        result = run('--csv', '--size', '1k,8k,64k', '--rtt', '1ms')
        assert result.returncode == 0, result.stderr
        cls.rows = {(row['call'], int(row['bytes']), row['way']): row
                    for row in csv.DictReader(io.StringIO(result.stdout))}

    def expect(self, call, size, way, round_trips, lent):
        row = self.rows[call, size, way]
        self.assertEqual((row['round_trips'], row['lent']), ('%.2f' % round_trips, str(lent)),
                         (call, size, way))

    def test_short_calls_take_one_by_any_way(self):
        for (call, size, way), row in self.rows.items():
            if size == 1024:
                self.assertEqual(row['round_trips'], '1.00', row)
                self.assertEqual(row['lent'], '1' if call == 'read' and
                                 way not in ('placement', 'all') else '0', row)

    def test_what_is_placed_takes_one_and_lends_nothing(self):
        for way in ('placement', 'all'):
            for call in ('write', 'read'):
                self.expect(call, 8192, way, 1, 0)
                self.assertEqual(self.rows[call, 8192, way]['messages'], '2')
        self.expect('write', 65536, 'placement', 2, 1)
        self.expect('read', 65536, 'placement', 1, 1)

    def test_what_takes_several_is_placed_where_that_costs_less(self):
        self.expect('write', 65536, 'all', 1, 0)
        self.assertEqual(self.rows['write', 65536, 'all']['messages'], '9')
        self.assertEqual(self.rows['write', 65536, 'all']['reads'], '0')
        self.expect('read', 65536, 'all', 1, 1)
        self.assertEqual(self.rows['read', 65536, 'all']['writes'], '1')

    def test_what_is_pulled_takes_two(self):
        for way in ('version-1', 'version-2'):
            for call in ('write', 'long-call'):
                self.expect(call, 8192, way, 2, 1)
            for call in ('read', 'long-reply'):
                self.expect(call, 8192, way, 1, 1)

    def test_long_messages_that_are_continued_take_one_and_lend_nothing(self):
        for way in ('continuation', 'all'):
            for call in ('long-call', 'long-reply'):
                self.expect(call, 8192, way, 1, 0)
                self.assertEqual(self.rows[call, 8192, way]['messages'], '4')

    def test_what_is_too_long_for_a_group_goes_by_the_base(self):
        self.expect('long-call', 65536, 'continuation', 2, 1)
        self.expect('long-reply', 65536, 'continuation', 1, 1)
        self.assertEqual(self.rows['long-call', 65536, 'continuation']['fallbacks'], '1')

    def test_default_costs_decide_where_doc_says(self):
        """Checks what doc/version-2.rst, Costs, says: a long call of 47 KiB is continued, and one
        of 48 KiB is not; a long reply of 19 KiB is continued, and one of 20 KiB is not."""
        result = run('--csv', '--size', '19k,20k,26k,27k,47k,48k', '--rtt', '3us')
        self.assertEqual(result.returncode, 0, result.stderr)
        lent = {(row['call'], int(row['bytes']) // 1024): row['lent']
                for row in csv.DictReader(io.StringIO(result.stdout))
                if row['way'] == 'all'}
        for call, most in (('long-call', 47), ('long-reply', 19), ('read', 26)):
            self.assertEqual((lent[call, most], lent[call, most + 1]), ('0', '1'), call)

    def test_latency_follows_the_wire(self):
        row = self.rows['long-call', 8192, 'version-1']
        self.assertAlmostEqual(float(row['latency_ns']), 2e6, delta=1000)

    def test_table(self):
        result = run('--size', '8k')
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r'long-call +8192 +2\.0 \+1 ')

    def test_largest(self):
        result = run('--size', '1m')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r'long-reply +1048576 +1\.0 \+1 ')


class CommandLine(unittest.TestCase):
    def test_mistakes(self):
        for args in (['--size', '0'], ['--size', '2m'], ['--rtt', '1'], ['--rtt', '1ns'],
                     ['--transmissions', '17'], ['--no-such'], ['8k']):
            result = run(*args)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn('weir-round-trips: ', result.stderr)
            self.assertEqual(result.stdout, '')

    def test_help(self):
        result = run('--help')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn('--transmissions', result.stdout)


if __name__ == '__main__':
    PROGRAM = sys.argv.pop(1)
    unittest.main()
