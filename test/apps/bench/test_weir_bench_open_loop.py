#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the measurements of weir-bench in an open loop, which other processes on the machine would
disturb."""
import sys
import unittest

from bench_tools import Case, QUICK, read_schema, run, some_lcores

Case.validator = read_schema(sys.argv.pop(1))


class OpenLoop(Case):
    def test_so_many_calls_as_the_rate_says(self):
        result = self.measure('--rate', '2k', '--time', '0.5', '--warmup', '0.05', '--quiet',
                              '--lcores', 'any')
        self.assertEqual((result['loop'], result['offered_rpc_per_s']), ('open', 2000))
        # The sum is the number of calls that were due, whatever happened to each call. The run can
        # end slightly late.
        self.assertIn(result['calls'] + result['untaken'], range(999, 1002))

    def test_nothing_is_left_out_where_the_rate_is_too_high(self):
        result = self.measure('--rate', '100m', '--depth', '2', '--time', '0.3', '--warmup', '0',
                              '--quiet', '--lcores', 'any')
        due = result['calls'] + result['untaken']
        self.assertAlmostEqual(due / 30e6, 1, delta=0.01)
        self.assertGreater(result['late'], 0.5 * due)
        # Most calls waited until the end: the median is half of the measured time.
        self.assertGreater(result['rtt_ns']['p50'], 0.1e9)
        self.assertIn('were late', run('--rate', '100m', *QUICK).stdout)

    def test_a_number_of_calls_over_several_connections_and_threads(self):
        result = self.measure('--rate', '20k', '--connections', '3', '--lcores', some_lcores(4),
                              '--calls', '500', '--quiet', '--workload', 'mixed', '--verify')
        self.assertEqual((result['calls'], result['untaken']), (500, 0))

if __name__ == '__main__':
    unittest.main(verbosity=1)
