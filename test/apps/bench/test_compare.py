#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests bench/compare: it parses the output of its tools, its tables judge the results, it names
missing peers, and its own peers run."""
import collections
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COMPARE, TIRPC, SPSC, BENCH, MICRO = sys.argv[1:6]
del sys.argv[1:6]
sys.path.insert(0, os.path.join(os.path.dirname(COMPARE), 'compare_lib'))
sys.dont_write_bytecode = True

import lines # noqa: E402
import state # noqa: E402
import tools # noqa: E402
from table import Table # noqa: E402


def printed(do, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        do(*args)
    return out.getvalue().splitlines()


class Reading(unittest.TestCase):
    def test_fi_pingpong(self):
        text = ('bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n'
                '64      20k     =20k     2.4m        8.08s      0.32     201.92       0.00\n')
        self.assertEqual(tools.read_fi_pingpong(text), 403840)

    def test_ucx_perftest(self):
        text = ('+--------------+--------------+\n|              |       |\n'
                '[thread 0]            1000000      0.134      0.135      0.135      452.02      '
                '452.02     7405933     7405933\n')
        # The output of a run without threads begins with the number of messages.
        self.assertEqual(tools.read_ucx(text.replace('[thread 0] ', '')),
                         {'typical_us': 0.134, 'messages_per_s': 7405933.0})

    def test_callgrind_and_strace(self):
        self.assertEqual(tools.read_callgrind('==1== Events    : Ir\n==1== Collected : 3523230\n'),
                         3523230)
        attached, detached = 'strace: Process 1 attached\n', 'strace: Process 1 detached\n'
        total = ('% time     seconds  usecs/call     calls    errors syscall\n'
                 '100.00    0.000000           0         7           total\n')
        self.assertEqual(tools.read_strace(attached + total), 7)
        self.assertEqual(tools.read_strace(attached + detached + total), 7)
        self.assertEqual(tools.read_strace(attached + detached), 0)
        for text in (attached, detached, total, '',
                     'strace: attach: ptrace(PTRACE_SEIZE, 1): No such process\n',
                     'strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted\n'):
            self.assertIsNone(tools.read_strace(text), text)

    def test_memory(self):
        self.assertEqual(tools.read_smaps_rollup('55d0-7ffd ---p 00000000 00:00 0    [rollup]\n'
                                                 'Rss:    5000 kB\nPss:            1234 kB\n'
                                                 'Pss_Dirty:       9 kB\n'), 1234 * 1024)


class Judging(unittest.TestCase):
    def judge(self, do, *args, missing=None):
        table = Table(missing)
        return printed(lambda: do(table, *args)), table

    def test_a_ratio_is_the_median_of_the_rounds_ratios(self):
        (line,), table = self.judge(Table.ratio, 'what', [10, 40, 30], [10, 10, 20], 1.5, 'x')
        self.assertIn('x 1.50', line)
        self.assertIn('[1.00 4.00]', line)
        self.assertIn(' ok ', line)
        self.assertEqual((table.failed, table.opened), (0, 0))
        (line,), table = self.judge(Table.ratio, 'what', [10, 40, 30], [10, 10, 20], 1.51, 'x')
        self.assertIn('NOT REACHED', line)
        self.assertEqual(table.failed, 1)

    def test_less_is_better_for_times(self):
        self.assertEqual(self.judge(lambda t: t.ratio('what', [7], [10], 0.8, 'ns',
                                                      least=False))[1].failed, 0)
        self.assertEqual(self.judge(lambda t: t.ratio('what', [9], [10], 0.8, 'ns',
                                                      least=False))[1].failed, 1)
        self.assertEqual(self.judge(Table.over, 'what', [400, 500], [300, 300], 150,
                                    'ns')[1].failed, 0)
        self.assertEqual(self.judge(Table.over, 'what', [400, 500], [300, 300], 149,
                                    'ns')[1].failed, 1)
        self.assertEqual(self.judge(Table.at_most, 'what', [500], 500, '')[1].failed, 0)
        self.assertEqual(self.judge(Table.at_most, 'what', [501], 500, '')[1].failed, 1)

    def test_less_than_a_bound_is_not_the_bound(self):
        def below(weir):
            return lambda t: t.ratio('what', [weir], [10], 1.0, 'ns', least=False, below=True)

        (line,), table = self.judge(below(10))
        self.assertIn('< 1  NOT REACHED', line)
        self.assertEqual(table.failed, 1)
        self.assertEqual(self.judge(below(9.99))[1].failed, 0)

    def steady(self, calls):
        class FakeTools: # the files that a measurement leaves, and the output of strace
            counters = [{'allocations': 0, 'registrations': 0, 'bulk_copies': 0}]
            system_calls = staticmethod(lambda: calls)
        return self.judge(lambda t: lines.print_steady_work(t, FakeTools))

    def test_no_system_calls_is_what_strace_saw(self):
        text, table = self.steady({'requester': 0, 'responder': 0})
        self.assertEqual((table.failed, table.opened), (0, 0))
        text, table = self.steady({'requester': None, 'responder': 3})
        self.assertIn('strace failed', text[3])
        self.assertIn('NOT REACHED', text[4])
        self.assertEqual((table.failed, table.opened), (1, 1))

    def test_a_missing_peer_is_named_and_leaves_its_line_open(self):
        (line,), table = self.judge(lambda t: t.ratio('what', [7], [], 1.0, 'ns', peer='ucx'),
                                    missing={'ucx': 'cure'})
        self.assertIn('ucx not installed', line)
        self.assertEqual((table.failed, table.opened), (0, 1))
        (line,), table = self.judge(lambda t: t.at_most('what', [], 1, '', peer='callgrind'),
                                    missing={'callgrind': 'cure'})
        self.assertIn('callgrind not installed', line)

    def test_a_line_without_a_bound_is_not_judged(self):
        (line,), table = self.judge(Table.ratio, 'what', [1], [1000], None, 'ns')
        self.assertNotIn('REACHED', line)
        self.assertEqual((table.failed, table.opened), (0, 0))


class Goals(unittest.TestCase):
    GOOD = {'null1': 300, 'null1_p999': 800, 'pingpong': 150, 'pingpong_p999': 300, 'ucx_lat': 400,
            'null32': 9e6, 'ucx_64': 1e7, 'instructions': 490, 'instructions_begun': 590,
            'read4k': 3e6, 'write4k': 3e6, 'ucx_4k': 2e6, 'read1m': 4e10, 'memcpy_read': 4e10,
            'write1m': 4e10, 'memcpy_write': 4e10, 'tirpc_unix': 1e5, 'tirpc_unix_lat': 6000,
            'beside_idle': 9e6, 'null32_idle': 8.6e6, 'beside_turns': 9e6, 'null32_turns': 7e6,
            'idle_bytes': 49152}

    def goals(self, **changes):
        got = collections.defaultdict(list, {key: [value] * 3
                                             for key, value in {**self.GOOD, **changes}.items()})
        table = Table()
        text = printed(lines.print_goals, table, got)
        with contextlib.redirect_stdout(io.StringIO()):
            status = table.finish()
        return text, table, status

    def test_all_reached(self):
        text, table, status = self.goals()
        self.assertEqual((table.failed, table.opened, status), (0, len(lines.ELSEWHERE), 0))
        self.assertEqual(len(text), 17 + len(lines.ELSEWHERE))

    def test_each_can_be_missed(self):
        for change in ({'pingpong': 119}, {'ucx_lat': 370}, {'null1_p999': 901}, {'null32': 7.4e6},
                       {'instructions': 501}, {'read4k': 2.9e6}, {'write4k': 2.3e6},
                       {'read1m': 3.7e10}, {'write1m': 3.7e10}, {'tirpc_unix': 4e5},
                       {'tirpc_unix_lat': 4000}, {'null32_idle': 8.5e6}, {'null32_turns': 6.7e6},
                       {'idle_bytes': 49153}):
            with self.subTest(change=change):
                _, table, status = self.goals(**change)
                self.assertEqual((table.failed, status), (1, 1))

    def test_the_bounds_are_printed_of_the_same_figures(self):
        got = collections.defaultdict(list, {key: [value] for key, value in self.GOOD.items()})
        got.update({key: [1] for key in ('ucx_put_4k', 'spsc_lat', 'spsc_rate', 'fi_shm', 'fi_tcp',
                                         'tirpc_tcp', 'tirpc_tcp_lat')})
        table = Table()
        text = printed(lines.print_bounds, table, got)
        self.assertEqual((table.failed, table.opened, len(text)), (0, 0, 15))


class OneState(unittest.TestCase):
    """Simulates cores that are near or far, as a script says. Each check and each run takes the
    next value of the script. The last value is used repeatedly."""
    NEAR, FAR = 120, 520

    def cores(self, at_first, *then):
        self.slept = 0
        self.script = [*at_first]

        def now():
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

        def sleep(seconds):
            self.slept += seconds

        found = state.State(now, sleep)
        self.script = [*then]
        return found, now

    def test_the_state_is_what_is_met_most_often(self):
        half = state.LOOKS // 2
        for first, second in ((self.NEAR, self.FAR), (self.FAR, self.NEAR)):
            cores, _ = self.cores([first] * (half + 1) + [second] * (half - 1))
            self.assertEqual(cores.ns, first)

    def test_one_that_is_rare_is_not_it_though_it_lies_between(self):
        cores, _ = self.cores([self.FAR] * 8 + [230] * 3 +
                              [110, 120, 121, 119, 120, 122, 118, 120, 125])
        self.assertEqual((state.LOOKS, cores.ns), (20, 120))

    def test_a_run_in_it_is_made_once(self):
        cores, now = self.cores([self.NEAR], 110, 130, 120)
        self.assertEqual(cores.run(now), 130)
        self.assertEqual((cores.runs, cores.again, cores.unlike), (1, 0, 0))

    def test_a_run_waits_for_it(self):
        cores, now = self.cores([self.NEAR], self.FAR, self.FAR, 120, 125, 120)
        self.assertEqual(cores.run(now), 125)
        self.assertEqual((cores.again, cores.unlike), (0, 0))

    def test_a_run_in_which_it_changed_is_made_again(self):
        for at_first, other in ((self.NEAR, self.FAR), (self.FAR, self.NEAR)):
            cores, now = self.cores([at_first], at_first, 1, other, at_first, 2, at_first)
            self.assertEqual(cores.run(now), 2)
            self.assertEqual((cores.runs, cores.again, cores.unlike), (1, 1, 0))

    def test_tries_and_patience_end_and_are_counted(self):
        cores, now = self.cores([self.NEAR], self.FAR)
        self.slept = 0
        self.assertEqual(cores.run(now), self.FAR)
        self.assertEqual((cores.runs, cores.again, cores.unlike), (1, state.TRIES - 1, 1))
        self.assertLessEqual(self.slept, state.TRIES * state.PATIENCE + 1e-6)
        self.assertIn('of 1 runs 4 were repeated', cores.says())
        self.assertTrue(cores.is_unsure())
        self.script = [120]
        for _ in range(round(1 / state.UNSURE) - 1):
            self.assertTrue(cores.is_unsure())
            cores.run(now)
        self.assertFalse(cores.is_unsure())

    def test_patience_ends_for_good_when_it_does_not_come_back(self):
        cores, now = self.cores([self.NEAR], self.FAR)
        self.slept = 0
        for _ in range(100):
            self.assertEqual(cores.run(now), self.FAR)
        self.assertEqual((cores.runs, cores.again, cores.unlike), (100, state.TRIES - 1, 100))
        self.assertLessEqual(self.slept, state.TRIES * state.PATIENCE + 1e-6)
        # If a disturbance is detected again, the program waits again.
        self.script = [120, 2, 120, self.FAR, self.FAR, 120, 3, 120]
        self.assertEqual((cores.run(now), cores.run(now)), (2, 3))

    def test_tools_measure_in_it_once_they_are_told(self):
        class Faked(tools.Tools):
            pings = runs = 0

            def ping(self, count):
                self.pings += 1
                return {'p50_ns': OneState.NEAR}

            def json_of(self, *argv, **_more):
                self.runs += 1
                return {'bytes_per_s': 1}

        faked = Faked('build', '0,1', 1)
        self.assertEqual((faked.memcpy(4096), faked.pings), (1, 0))
        pause, state.PAUSE = state.PAUSE, 0
        faked.keep_to_one_state()
        state.PAUSE = pause
        before = faked.pings
        self.assertEqual((faked.memcpy(4096), faked.pings - before, faked.runs), (1, 2, 2))


class Latency(unittest.TestCase):
    """The setting 'latency' reaches each run of weir, if the version knows it."""
    # Programs that write their arguments, and the profile that they name, to a file.
    SAYS = """#!/bin/sh
folder=$(dirname "$0")
while [ $# -gt 0 ]; do
    echo "$1" >>"$folder/said"
    if [ "$1" = --profile ]; then
        cat "$2" >>"$folder/said"
    fi
    shift
done
"""
    UNKNOWN = ("echo 'weir-bench: /x.ini:2: [engine] latency: no such key; known: idle' >&2\n"
               'exit 2\n')

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        os.makedirs(os.path.join(self.folder, 'bench', 'weir-bench'))

    def bench(self, latency, text=''):
        """Returns the Tools of a build whose weir-bench says its arguments and then does what
        'text' says."""
        path = os.path.join(self.folder, 'bench', 'weir-bench', 'weir-bench')
        with open(path, 'w', encoding='ascii') as file:
            file.write(self.SAYS + text)
            os.fchmod(file.fileno(), 0o700)
        return tools.Tools(self.folder, '0,1', 1, latency)

    def said(self):
        path = os.path.join(self.folder, 'bench', 'weir-bench', 'said')
        with open(path, encoding='ascii') as file:
            text = file.read()
        os.unlink(path)
        return text

    def test_each_run_of_weir_has_it(self):
        figures = json.dumps({'errors': 0, 'verify_failures': 0, 'counters': {}})
        for latency in tools.LATENCIES:
            made = self.bench(latency, f"echo '{figures}'\n")
            made.drop_latency_if_unknown()
            self.assertIn(f'[engine]\nlatency = {latency}\n', self.said())
            made.weir('null', 64, 1)
            self.assertIn(f'--profile\n[engine]\nlatency = {latency}\n', self.said())
            self.assertEqual(made.says_latency(), f'weir ran with latency = {latency}')
            with self.assertRaisesRegex(RuntimeError, 'ended without'):
                made.memory_of(2)
            self.assertIn(f'pages = 4k\n[engine]\nlatency = {latency}\n', self.said())
        made = self.bench('calls', 'exit 1\n')
        with self.assertRaisesRegex(RuntimeError, 'exit 1'):
            made.system_calls()
        self.assertEqual(self.said().count('latency = calls'), 2)

    def test_runs_without_it_have_no_profile(self):
        made = self.bench(None, """echo '{"errors": 0, "verify_failures": 0, "counters": {}}'""")
        made.drop_latency_if_unknown()
        made.weir('null', 64, 1)
        self.assertNotIn('--profile', self.said())
        self.assertEqual(made.says_latency(), 'weir ran with latency = off, the default')

    def test_a_version_that_does_not_know_it_runs_without_it(self):
        made = self.bench('calls', self.UNKNOWN)
        made.drop_latency_if_unknown()
        self.assertIn('latency = calls', self.said())
        self.assertEqual((made.settings(), made.latency_lines()), ([], ''))
        self.assertIn('does not know the setting latency', made.says_latency())

    def test_another_error_is_not_taken_for_that(self):
        made = self.bench('calls', 'echo no memory >&2\nexit 1\n')
        with self.assertRaisesRegex(RuntimeError, 'no memory'):
            made.drop_latency_if_unknown()

    def test_programs_of_this_version_know_it(self):
        build = os.path.dirname(os.path.dirname(os.path.dirname(BENCH)))
        for latency in tools.LATENCIES:
            made = tools.Tools(build, '0,1', 1, latency)
            made.drop_latency_if_unknown()
            self.assertEqual(made.latency, latency)
            text = tools.run([BENCH, '--lcores', 'any', '--warmup', '0', '--calls', '100',
                              '--quiet', '--json', '-', *made.settings()])
            self.assertEqual('stages' in json.loads(text), latency == 'stages')

    def test_instructions_are_counted_with_it(self):
        asked, real = [], tools.run
        tools.run = lambda argv, **_more: asked.append(argv) or 'Collected : 10'
        try:
            for latency in (None, *tools.LATENCIES):
                tools.Tools('build', '0,1', 1, latency).instructions('null', 64, 1, '--begin')
        finally:
            tools.run = real
        words = [[word for word in argv if word.startswith('--latency')] for argv in asked]
        self.assertEqual(words, [[], [], ['--latency'], ['--latency=stages']])
        for option in ([], ['--latency=off'], *words):
            tools.run([MICRO, '--calls', '10', *option])
        with self.assertRaisesRegex(RuntimeError, 'exit 2'):
            tools.run([MICRO, '--calls', '10', '--latency=sometimes'])


class Peers(unittest.TestCase):
    def run_peer(self, *args):
        done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_libtirpc_over_both_sockets(self):
        for transport in ('unix', 'tcp'):
            for size in ('0', '64', '4000'):
                result = self.run_peer(TIRPC, '--transport', transport, '--calls', '50', '--size',
                                       size)
                self.assertEqual((result['transport'], result['calls'], result['size']),
                                 (transport, 50, int(size)))
                self.assertGreater(result['rpc_per_s'], 0)
                self.assertGreater(result['p50_ns'], 0)

    def test_a_bare_ring(self):
        result = self.run_peer(SPSC, '--iters', '3000')
        self.assertGreater(result['messages_per_s'], 0)
        self.assertGreater(result['p50_ns'], 0)

    def test_mistakes(self):
        for args in ([TIRPC, '--transport', 'udp'], [TIRPC, '--size', '9000'],
                     [SPSC, '--iters', '0'], [SPSC, 'stray']):
            self.assertEqual(subprocess.run(args, stderr=subprocess.DEVNULL).returncode, 2)

    def test_nothing_built_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, COMPARE, '--build', folder],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('nothing built', done.stderr)

    def test_cores_that_have_no_ping_pong_are_said(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (('weir-bench', 'exit 0'),
                               ('micro', 'echo no such core >&2\nexit 1')):
                os.makedirs(os.path.join(folder, 'bench', name))
                program = os.path.join(folder, 'bench', name, 'weir-bench' if name == 'weir-bench'
                                       else 'weir-micro-pingpong')
                with open(program, 'w', encoding='ascii') as file:
                    file.write(f'#!/bin/sh\n{text}\n')
                    os.fchmod(file.fileno(), 0o700)
            for said in ('no such core', 'No such file'):
                done = subprocess.run([sys.executable, COMPARE, '--build', folder, '--cores',
                                       '0,0'], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, f'^compare: no ping-pong between cores 0,0.*{said}')
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(program)

    def test_mistakes_in_options_are_said_before_anything_runs(self):
        for args in (['--rounds', '0'], ['--rounds', '-1'], ['--time', '0'], ['--time', 'nan'],
                     ['--cores', '0,1,2'], ['--cores', 'a,b'], ['--latency', 'on'],
                     ['--latency', '']):
            done = subprocess.run([sys.executable, COMPARE, *args, '--build', '/no/such'],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ''), args)
            self.assertIn(args[0], done.stderr)

    def test_interrupted_it_ends_what_it_runs_and_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ('weir-bench/weir-bench', 'micro/weir-micro-pingpong'):
                os.makedirs(os.path.dirname(os.path.join(folder, 'bench', name)))
                with open(os.path.join(folder, 'bench', name), 'w', encoding='ascii') as file:
                    file.write(f'#!/bin/sh\necho $$ >{folder}/pid\nexec sleep 100\n')
                    os.fchmod(file.fileno(), 0o700)
            for number in (signal.SIGINT, signal.SIGTERM):
                with subprocess.Popen([sys.executable, COMPARE, '--build', folder],
                                      stderr=subprocess.PIPE, text=True,
                                      stdout=subprocess.DEVNULL) as compare:
                    path = os.path.join(folder, 'pid')
                    while not os.path.exists(path) or os.path.getsize(path) == 0:
                        self.assertIsNone(compare.poll())
                        time.sleep(0.01)
                    with open(path, encoding='ascii') as file:
                        pid = int(file.read())
                    compare.send_signal(number)
                    said = compare.communicate(timeout=60)[1]
                self.assertEqual(compare.returncode, 128 + number)
                self.assertEqual(said.splitlines()[-1], 'compare: interrupted: no table')
                self.assertNotIn('Traceback', said)
                with self.assertRaises(ProcessLookupError):
                    os.kill(pid, 0)
                os.unlink(path)

    def test_interrupted_while_it_starts_a_program_it_ends_that_too(self):
        script = '''
import os, runpy, signal, subprocess, sys
class Interrupted(subprocess.Popen):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen = Interrupted
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')
'''
        with tempfile.TemporaryDirectory() as folder:
            for name in ('weir-bench/weir-bench', 'micro/weir-micro-pingpong'):
                os.makedirs(os.path.dirname(os.path.join(folder, 'bench', name)))
                with open(os.path.join(folder, 'bench', name), 'w', encoding='ascii') as file:
                    file.write('#!/bin/sh\nexec sleep 100\n')
                    os.fchmod(file.fileno(), 0o700)
            done = subprocess.run([sys.executable, '-c', script, COMPARE, '--build', folder],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 128 + signal.SIGTERM)
        self.assertEqual(done.stderr.splitlines()[-1], 'compare: interrupted: no table')
        with self.assertRaises(ProcessLookupError):
            os.kill(int(done.stdout.split()[-1]), 0)

    def test_a_peer_that_fails_leaves_its_lines_open_and_others_go_on(self):
        said, missing, asked = [], {}, []
        for error in ('exit 3', 'exit 4'):
            def fail(text=error):
                asked.append(text)
                raise RuntimeError(text)
            lines.ask('ucx', missing, said.append, fail)
        lines.ask('libfabric', missing, said.append, lambda: asked.append('libfabric'))
        self.assertEqual((missing, asked), ({'ucx': None}, ['exit 3', 'libfabric']))
        self.assertRegex(said[0], '^compare: ucx failed.*exit 3')
        self.assertEqual(len(said), 1)
        table = Table(missing)
        (line,) = printed(lambda: table.ratio('what', [7, 7], [7], 1.0, 'ns', peer='ucx'))
        self.assertIn('ucx failed', line)
        self.assertEqual((table.failed, table.opened), (0, 1))

    def test_a_peer_that_hangs_or_says_something_else_has_failed(self):
        with self.assertRaisesRegex(RuntimeError, 'not end within 0.1 s'):
            tools.run(['sleep', '100'], timeout=0.1)
        for read in (tools.read_ucx, tools.read_fi_pingpong):
            for text in ('', 'no such device\n', '1 x\n'):
                with self.assertRaisesRegex(RuntimeError, 'unexpected output'):
                    tools.read_by(read, text, 'peer')

    def test_a_client_that_hangs_is_not_tried_again(self):
        asked, real = [], tools.run

        def hang(argv, **_more):
            asked.append(argv)
            return real(argv, timeout=0.1)

        tools.run = hang
        try:
            with self.assertRaisesRegex(RuntimeError, 'not end'):
                tools.Tools('build', '0,0', 1).between(['sleep', '1'], ['sleep', '100'])
        finally:
            tools.run = real
        self.assertEqual(len(asked), 1)

    def with_valgrind(self, text, seconds):
        """Counts instructions with a valgrind that acts as 'text' says, within a time limit."""
        path, real = os.environ['PATH'], tools.run
        tools.run = lambda argv, **_more: real(argv, timeout=seconds)
        try:
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, 'valgrind'), 'w', encoding='ascii') as file:
                    file.write(f'#!/bin/sh\n{text}\n')
                    os.fchmod(file.fileno(), 0o700)
                os.environ['PATH'] = f'{folder}:{path}'
                return tools.Tools('build', '0,1', 1).instructions('null', 64, 1, calls=10)
        finally:
            os.environ['PATH'], tools.run = path, real

    def test_callgrind_too_may_fail_or_hang(self):
        self.assertEqual(self.with_valgrind('echo "==1== Collected : 5000"', 60), 500)
        for text, seconds, said in (('echo no such tool', 60, 'unexpected output'),
                                    ('exit 1', 60, 'exit 1'), ('exec sleep 100', 0.1, 'not end')):
            with self.assertRaisesRegex(RuntimeError, said):
                self.with_valgrind(text, seconds)

    def test_a_run_has_the_time_that_it_was_told_to_take(self):
        asked, real = [], tools.run

        def answer(argv, timeout=0, **_more):
            asked.append(timeout - float(argv[argv.index('--time') + 1]))
            return json.dumps({'errors': 0, 'verify_failures': 0, 'counters': {}, 'bytes_per_s': 1})

        tools.run = answer
        try:
            told = tools.Tools('build', '0,1', 86400)
            told.weir('null', 64, 1)
            told.memcpy(4096)
        finally:
            tools.run = real
        self.assertEqual(len(asked), 2)
        self.assertGreaterEqual(min(asked), 60)

    def test_a_load_that_fails_under_strace_is_no_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            bench = os.path.join(folder, 'bench', 'weir-bench')
            os.makedirs(bench)
            with open(os.path.join(bench, 'weir-bench'), 'w', encoding='ascii') as file:
                file.write('#!/bin/sh\nexit 1\n')
                os.fchmod(file.fileno(), 0o700)
            with self.assertRaisesRegex(RuntimeError, 'exit 1'):
                tools.Tools(folder, '0,1', 0.1).system_calls()

    def test_missing_programs_are_named_with_a_cure(self):
        path = os.environ['PATH']
        try:
            os.environ['PATH'] = '/no/such/folder'
            missing = tools.missing_peers()
        finally:
            os.environ['PATH'] = path
        self.assertEqual(set(missing), {'ucx', 'libfabric', 'callgrind', 'strace'})
        self.assertIn('ucx-utils', missing['ucx'])


if __name__ == '__main__':
    unittest.main(verbosity=1)
