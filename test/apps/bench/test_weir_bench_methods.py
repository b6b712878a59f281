#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the methods of weir-bench: think time, repetitions, steadiness, sweeps, thresholds, and the
schema of its JSON."""
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

from bench_tools import BENCH, BY_CALLS, Case, QUICK, read_schema, run, some_lcores

Case.validator = read_schema(sys.argv.pop(1))


class Schema(Case):
    def test_the_schema_is_one_and_refuses(self):
        jsonschema.Draft202012Validator.check_schema(Case.validator.schema)
        result = self.measure(*BY_CALLS, '10')
        for key in ('errors', 'points', 'schema'):
            with self.assertRaises(jsonschema.ValidationError, msg=key):
                Case.validator.validate({k: v for k, v in result.items() if k != key})
        result['points'][0]['rtt_ns']['p50'] = -1
        with self.assertRaises(jsonschema.ValidationError):
            Case.validator.validate(result)

    def test_each_workload(self):
        for workload in ('null', 'echo', 'read', 'write', 'mixed', 'list'):
            for mode in ([], ['--threads']):
                self.measure('--workload', workload, '--verify', *mode, *QUICK)

    def test_by_time_both_sides_say_what_they_cost(self):
        cpu = self.measure('--workload', 'read', *QUICK)['cpu']
        self.assertEqual(set(cpu), {'requester', 'responder'})
        for side in cpu.values():
            self.assertGreater(side['cycles_per_rpc'], 0)
            self.assertGreater(side['busy_ratio'], 0)
        text = run('--workload', 'read', *QUICK).stdout
        self.assertIn('cycles per RPC', text)
        if cpu['requester']['instructions_per_rpc'] is None:
            self.assertIn('instructions not available', text)


class Stages(Case):
    def test_the_times_of_the_stages_are_reported_if_they_are_measured(self):
        with tempfile.NamedTemporaryFile('w', suffix='.ini') as profile:
            profile.write('[engine]\nlatency = stages\n')
            profile.flush()
            load = ('--workload', 'read', '--profile', profile.name)
            for mode in ([], ['--threads']):
                result = self.measure(*load, *mode, *QUICK)
                stages = result['stages']
                self.assertEqual(set(stages), {'queued', 'credit', 'sent', 'pulled', 'handled',
                                               'pushed', 'replied'})
                for name, times in stages.items():
                    self.assertGreater(times['count'], 0, name)
                    self.assertLessEqual(times['p50'], times['p99'], name)
                self.assertGreaterEqual(stages['sent']['count'], result['calls'])
                self.assertGreater(stages['sent']['p50'], 0)
            self.assertRegex(run(*load, *QUICK).stdout, r'stage +queued +mean \d+ ns')
        self.assertNotIn('stages', self.measure(*QUICK))
        self.assertNotIn('stage ', run(*QUICK).stdout)


class ClosedLoop(Case):
    def test_a_time_in_which_no_call_ends_is_said(self):
        with tempfile.NamedTemporaryFile('w', suffix='.ini') as profile:
            # The default numbers of such buffers would need gigabytes.
            profile.write('[memory]\nlong_buffers = 1\nbulk_buffers = 1\n')
            profile.flush()
            done = run('--workload', 'read', '--size', '64m', '--depth', '1', '--warmup', '0',
                       '--time', '0.001', '--quiet', '--lcores', 'any', '--profile', profile.name)
        self.assertIn('no call was completed', done.stderr)

    def test_lanes_think(self):
        result = self.measure('--think', '5ms', '--depth', '2', '--connections', '2', *BY_CALLS,
                              '41')
        self.assertEqual((result['loop'], result['think_ns'], result['calls']),
                         ('closed', 5000000, 41))
        # 41 calls on 4 slots: at least one slot has waited ten think times.
        self.assertGreaterEqual(result['seconds'], 0.05)

    def test_a_number_of_calls_is_measured_to_the_end_of_the_last(self):
        """With a number of calls, the measurement ends with the last call, even if all calls are in
        flight at the same time."""
        for calls, depth, connections, lcores, more in ((1, 1, 1, 'any', []), (8, 8, 1, 'any', []),
                                                        (64, 64, 1, 'any', []),
                                                        (3, 8, 1, 'any', []),
                                                        (100, 16, 3, 'any', []),
                                                        (61, 16, 3, some_lcores(4), []),
                                                        (200, 32, 5, some_lcores(6), []),
                                                        (50, 8, 2, some_lcores(4),
                                                         ['--think', '1ms']),
                                                        (50, 8, 2, some_lcores(4),
                                                         ['--rate', '5k'])):
            with self.subTest(calls=calls, depth=depth, connections=connections, lcores=lcores,
                              more=more):
                result = self.measure('--calls', str(calls), '--depth', str(depth), '--connections',
                                      str(connections), '--workload', 'read', '--size', '200k',
                                      '--lcores', lcores, '--quiet', *more)
                counters, rtt = result['requester_counters'], result['rtt_ns']
                self.assertEqual((result['calls'], counters['calls_sent'],
                                  counters['calls_completed']), (calls,) * 3)
                self.assertEqual(result['errors'], 0)
                if '--rate' in more:
                    continue  # round trips begin when they are due
                # No slot has two calls at a time. The steps of a histogram are 1/64.
                self.assertLessEqual(rtt['max'], result['seconds'] * 1e9 * 65 / 64)
                self.assertLessEqual(rtt['mean'] * calls,
                                     result['seconds'] * 1e9 * depth * connections * 65 / 64)
                self.assertGreater(result['cpu']['requester']['busy_ratio'], 0)
                self.assertLessEqual(result['cpu']['requester']['busy_ratio'], 1)

    def test_mistakes(self):
        self.refuses('--think: it contradicts --rate', '--rate', '1k', '--think', '1us')
        self.refuses('unit', '--think', '5')
        self.refuses('from 1 to', '--rate', '0')


class Repetitions(Case):
    def test_medians_lie_between_least_and_largest(self):
        result = self.measure('--repeat', '3', '--workload', 'read', *BY_CALLS, '200')
        self.assertEqual((result['calls'], result['repeat']['runs'],
                          len(result['points'][0]['runs'])), (600, 3, 3))
        runs = result['points'][0]['runs']
        rates = sorted(run['rpc_per_s'] for run in runs)
        spread = result['repeat']['rate']
        self.assertEqual([spread['min'], spread['median'], spread['max']], rates)
        self.assertEqual(result['rpc_per_s'], rates[1])
        self.assertEqual(result['rtt_ns']['p99'], sorted(run['rtt_ns']['p99'] for run in runs)[1])
        self.assertIn('of 2 runs', run('--repeat', '2', *BY_CALLS, '20').stdout)

    def test_over_threads_and_with_a_responder_elsewhere(self):
        self.assertEqual(self.measure('--repeat', '3', '--threads', *BY_CALLS, '50')['calls'], 150)
        addr = f'weir-test-repeat-{os.getpid()}'
        server = subprocess.Popen([BENCH, '--listen', addr, '--lcores', 'any'],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            self.assertTrue(any('responder on' in line for line in server.stderr))
            result = self.measure('--connect', addr, '--repeat', '2', '--size', '64,128', *BY_CALLS,
                                  '50')
            self.assertEqual([point['calls'] for point in result['points']], [100, 100])
        finally:
            server.terminate()
            self.assertEqual(server.wait(timeout=60), 0)
            server.stderr.close()

    def test_steady_or_not_is_said(self):
        asked = ['--steady', '100', '--steady-time', '5', *QUICK]
        steady = self.measure(*asked)['points'][0]['runs'][0]['steady']
        self.assertIn(steady['reached'], (True, False))
        # At one call per second, most intervals of 100 ms contain no call.
        never = ['--rate', '1', '--steady', '1', '--steady-time', '0.6', *QUICK]
        steady = self.measure(*never)['points'][0]['runs'][0]['steady']
        self.assertFalse(steady['reached'])
        self.assertGreaterEqual(steady['seconds'], 0.6)
        self.assertIn('NOT STEADY', run(*never).stdout)
        self.refuses('a percentage', '--steady', '0')


class Sweeps(Case):
    def test_all_combinations(self):
        result = self.measure('--workload', 'read', '--size', '512:8k:x4', '--depth', '1:9:+4',
                              '--verify', *BY_CALLS, '30')
        combinations = [(point['size'], point['depth']) for point in result['points']]
        self.assertEqual(combinations,
                         [(size, depth) for size in (512, 2048, 8192) for depth in (1, 5, 9)])
        self.assertNotIn('rpc_per_s', result)
        rows = run('--rate', '5k,10k', '--connections', '1,2', *BY_CALLS, '30').stdout.splitlines()
        self.assertEqual(len(rows), 2 + 4)
        self.assertEqual([row.split()[2:4] for row in rows[2:]],
                         [['1', '5000'], ['1', '10000'], ['2', '5000'], ['2', '10000']])

    def test_idle_connections(self):
        result = self.measure('--connections', '7', '--active', '2', '--depth', '3', *BY_CALLS,
                              '401', '--lcores', some_lcores(4))
        self.assertEqual((result['connections'], result['active'], result['in_turn'],
                          result['calls']), (7, 2, False, 401))
        calls = result['calls_of_a_connection']
        self.assertEqual((calls['least'] + calls['most'], calls['idle']), (401, 0))
        # Each of two threads has one of the two connections, and half of the calls. This needs four
        # cores.
        if some_lcores(4).count(',') == 3:
            self.assertEqual((calls['least'], calls['most']), (200, 201))

    def test_connections_in_turn(self):
        result = self.measure('--connections', '9', '--active', '5', '--in-turn', '--depth', '3',
                              '--workload', 'mixed', '--verify', *BY_CALLS, '1003')
        calls = result['calls_of_a_connection']
        self.assertEqual((calls['least'], calls['most'], calls['idle']), (200, 201, 0))
        done = run('--connections', '2,4', '--active', '3')
        self.assertEqual(done.returncode, 2)
        self.assertIn("--active '3': more than --connections", done.stderr)

    def test_sizes_of_reads_and_writes(self):
        result = self.measure('--workload', 'mixed', '--ratio', '50', '--read-size', '100',
                              '--write-size', '70000', '--verify', *BY_CALLS, '400')
        self.assertEqual((result['read_size'], result['write_size'], result['size']),
                         (100, 70000, 70000))
        counters = result['requester_counters']
        moved = result['bytes_per_s'] * result['seconds']
        writes = round(moved / 70000)
        self.assertAlmostEqual(moved, writes * 70000 + (400 - writes) * 100, delta=1)
        self.assertGreater(writes, 100)
        self.assertEqual(counters['calls_completed'], 400)

    def test_access_over_a_working_set(self):
        for access in ('random', 'sequential'):
            result = self.measure('--workload', 'read', '--size', '3000', '--working-set', '1m',
                                  '--access', access, '--verify', '--connections', '2', '--depth',
                                  '3', *BY_CALLS, '1000')
            self.assertEqual((result['access'], result['working_set']), (access, 1 << 20))

    def test_mistakes(self):
        self.refuses('A:B:xFACTOR', '--size', '1:2')
        self.refuses('from 1 to 1024', '--depth', '1:2048:x2')
        self.refuses('--size: more than 1000 combinations',
                     '--size', '1:64:+1', '--depth', '1:64:+1')
        self.refuses('mixed', '--workload', 'read', '--read-size', '1k')
        self.refuses('one size', '--listen', 'x', '--size', '1k,2k')
        self.refuses('random or sequential', '--access', 'zigzag')


class Thresholds(Case):
    def test_met_and_missed(self):
        asked = ['--threshold', 'p99<1000s', '--threshold', 'rate>1']
        result = self.measure(*asked, *BY_CALLS, '50')
        self.assertEqual(result['thresholds_missed'], 0)
        self.assertEqual([t['met'] for t in result['thresholds']], [True, True])
        result = self.measure(*asked, '--threshold', 'p50<1ns', '--size', '64,128', *BY_CALLS, '50',
                              status=3)
        self.assertEqual(result['thresholds_missed'], 2)
        for point in result['points']:
            self.assertEqual([t['met'] for t in point['thresholds']], [True, True, False])
            self.assertEqual(point['thresholds'][2]['value'], point['rtt_ns']['p50'])
        done = run('--threshold', 'p50<1ns', *BY_CALLS, '50')
        self.assertEqual(done.returncode, 3)
        self.assertIn('p50<1ns', done.stdout)
        self.assertIn('NOT MET', done.stdout)

    def test_mistakes(self):
        self.refuses('unit', '--threshold', 'p99<5')
        self.refuses('p50, p90', '--threshold', 'p98<5us')

if __name__ == '__main__':
    unittest.main(verbosity=1)
