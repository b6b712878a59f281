#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests signals that interrupt weir-bench. It must report what it measured until then, and mark the
report. Each wait is for an event."""
import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from bench_tools import BENCH, read_schema

SCHEMA = sys.argv.pop(1)
INTERRUPTED = 128
FOREVER = '600' # seconds; longer than any test
# If the tests run under nohup, programs would inherit that this signal is ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(*args, **options):
    return subprocess.Popen([BENCH, '--lcores', 'any', '--quiet', *args], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **options)


def ticks_of(pid):
    """Returns the CPU time of a process, in ticks of the kernel's accounting."""
    with open(f'/proc/{pid}/stat', encoding='ascii') as file:
        fields = file.read().rpartition(')')[2].split()
    return int(fields[11]) + int(fields[12])


def state_of(pid):
    """Returns the state of a process as one letter, as in ps(1), or None if there is no such
    process."""
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as file:
            return file.read().rpartition(')')[2].split()[0]
    except OSError:
        return None


def has_connection(pid):
    """Returns whether a process has a connection of the shm driver, whose socket is of type
    SOCK_SEQPACKET."""
    sockets = set()
    for number in os.listdir(f'/proc/{pid}/fd'):
        try:
            sockets.add(os.readlink(f'/proc/{pid}/fd/{number}'))
        except OSError:
            continue # closed meanwhile
    with open('/proc/net/unix', encoding='ascii') as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return any(row[4] == f'{socket.SOCK_SEQPACKET:04}' and row[5] == '03' and
               f'socket:[{row[6]}]' in sockets for row in rows)


class Case(unittest.TestCase):
    validator = read_schema(SCHEMA)

    def wait_for(self, condition, process):
        while not condition():
            if process.poll() is not None:
                self.fail(f'ended with status {process.returncode}: {process.stderr.read()}')
            time.sleep(0.01)

    def wait_for_load(self, process, times=1):
        """Waits until the process has connected, and has used half a second of CPU time since then.
        Without a warm-up, it is then measuring."""
        self.wait_for(lambda: has_connection(process.pid), process)
        before = ticks_of(process.pid)
        self.wait_for(lambda: ticks_of(process.pid) >= before +
                      times * os.sysconf('SC_CLK_TCK') // 2, process)

    def end(self, process, status=INTERRUPTED):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, err)
        return out, err

    def parse(self, text):
        result = json.loads(text)
        self.validator.validate(result)
        return result


class Single(Case):
    """One run, which a signal ends early."""

    def cut_short(self, *args, signo=signal.SIGINT):
        process = start('--warmup', '0', *args)
        self.wait_for_load(process)
        process.send_signal(signo)
        return self.end(process)

    def test_the_table_is_of_what_was_measured(self):
        for how in (['--time', FOREVER], ['--time', FOREVER, '--threads'],
                    ['--calls', '10000000000'], ['--time', FOREVER, '--rate', '10k']):
            with self.subTest(how=how):
                out, err = self.cut_short(*how)
                self.assertTrue(out.startswith('INTERRUPTED in the first of 1 runs'), out)
                self.assertRegex(out, r'calls +[1-9][0-9]* RPC/s')
                self.assertIn('errors 0', out)
                self.assertIn('interrupted: 0 of 1 runs are finished', err)

    def test_json_is_of_what_was_measured(self):
        for how in (['--time', FOREVER], ['--time', FOREVER, '--threads', '--connections', '3'],
                    ['--calls', '10000000000', '--depth', '8']):
            with self.subTest(how=how):
                out, _ = self.cut_short('--json', '-', *how)
                result = self.parse(out)
                self.assertEqual((result['interrupted'], result['runs_asked'],
                                  result['runs_finished']), (True, 1, 0))
                self.assertEqual([run['interrupted'] for run in result['points'][0]['runs']],
                                 [True])
                self.assertGreater(result['calls'], 0)
                self.assertGreater(result['rpc_per_s'], 0)
                self.assertLess(result['seconds'], float(FOREVER))
                self.assertEqual((result['errors'], result['verify_failures']), (0, 0))
                self.assertEqual(sum(count for _, count in result['points'][0]['rtt_histogram']),
                                 result['calls'])

    def test_files_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = {form: os.path.join(folder, form) for form in ('json', 'csv', 'html')}
            out, _ = self.cut_short('--time', FOREVER, *(word for form, path in paths.items()
                                                         for word in (f'--{form}', path)))
            self.assertIn('INTERRUPTED', out)
            self.assertEqual(sorted(os.listdir(folder)), sorted(paths))
            with open(paths['json'], encoding='utf-8') as file:
                self.assertTrue(self.parse(file.read())['interrupted'])
            with open(paths['csv'], encoding='utf-8') as file:
                row, = csv.DictReader(file)
                self.assertEqual(row['interrupted'], '1')
                self.assertGreater(int(row['calls']), 0)
            with open(paths['html'], encoding='utf-8') as file:
                self.assertIn('"interrupted":true', file.read())

    def test_each_signal_that_ends_it(self):
        for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):
            with self.subTest(signo=signo):
                self.assertIn('INTERRUPTED', self.cut_short('--time', FOREVER, signo=signo)[0])

    def test_the_terminal_signals_the_whole_group(self):
        process = start('--warmup', '0', '--time', FOREVER, '--json', '-', start_new_session=True)
        self.wait_for_load(process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = self.end(process)
        result = self.parse(out)
        self.assertEqual(result['errors'], 0, err)
        self.assertIn('responder_counters', result) # its process ended normally

    def test_timeout_sends_its_signal_twice(self):
        done = subprocess.run(['timeout', '-s', 'INT', '2', BENCH, '--lcores', 'any', '--quiet',
                               '--warmup', '0', '--time', FOREVER],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 124, done.stderr) # the status of timeout itself
        self.assertIn('INTERRUPTED', done.stdout)

    def test_nohup_is_respected(self):
        process = start('--warmup', '0', '--time', FOREVER,
                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_load(process)
        process.send_signal(signal.SIGHUP)
        self.wait_for_load(process)
        process.send_signal(signal.SIGINT)
        self.end(process)

    def test_before_the_measured_time_there_is_no_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'json')
            process = start('--warmup', FOREVER, '--time', '1', '--json', path)
            self.wait_for_load(process)
            process.send_signal(signal.SIGINT)
            out, err = self.end(process)
            self.assertEqual((out, os.listdir(folder)), ('', []))
            self.assertIn('interrupted before anything was measured', err)

    def test_while_it_waits_for_a_steady_rate(self):
        process = start('--warmup', '0', '--steady', '0.000001', '--steady-time', FOREVER, '--time',
                        '1')
        self.wait_for_load(process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], '')


class Several(Case):
    """Several runs: those that were finished are reported, and the run that was ended early is not
    mixed with them."""

    def after_runs(self, count, *args):
        """Interrupts the process when 'done' runs are finished. The next run takes longer than any
        test. If fewer runs have ended, tries again and waits longer."""
        for times in (1, 2, 4, 8, 16, 32):
            process = start('--warmup', '0', '--calls', '300', *args)
            self.wait_for_load(process, times)
            process.send_signal(signal.SIGINT)
            out, err = self.end(process)
            if f'interrupted: {count} of ' in err:
                return out
        return self.fail(err)

    def test_a_sweep_has_the_points_that_are_finished(self):
        for side in ([], ['--threads']):
            with self.subTest(side=side), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, 'json')
                out = self.after_runs(2, '--rate', '100k,10k,1', '--json', path, *side)
                self.assertTrue(out.startswith('INTERRUPTED: the figures cover the 2 finished '
                                               'runs, of 3\n'), out)
                with open(path, encoding='utf-8') as file:
                    result = self.parse(file.read())
                self.assertEqual((result['interrupted'], result['runs_asked'],
                                  result['runs_finished']), (True, 3, 2))
                self.assertEqual([(point['offered_rpc_per_s'], point['calls'])
                                  for point in result['points']],
                                 [(100000, 300), (10000, 300)])
                self.assertFalse(any(run['interrupted'] for point in result['points']
                                     for run in point['runs']))
                self.assertEqual(len(out.splitlines()), 5, out) # including two header lines

    def test_repetitions_that_are_finished_count(self):
        rows = list(csv.DictReader(io.StringIO(self.after_runs(1, '--rate', '100k,1', '--repeat',
                                                               '3', '--csv', '-'))))
        self.assertEqual([(row['offered_rpc_per_s'], row['run'], row['calls'], row['interrupted'])
                          for row in rows],
                         [('100000', '1', '300', '0')])


class Again(Case):
    def listen(self):
        self.addr = f'weir-test-interrupt-{os.getpid()}'
        server = subprocess.Popen([BENCH, '--lcores', 'any', '--listen', self.addr],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertTrue(any('responder on' in line for line in server.stderr))
        return server

    def stop(self, pid, process):
        """Stops a process, which then answers no call."""
        os.kill(pid, signal.SIGSTOP)
        self.wait_for(lambda: state_of(pid) == 'T', process)

    def interrupt_until_it_ends(self, process):
        """Interrupts the process. It waits up to ten seconds for the calls in flight. A user who
        does not want to wait presses Ctrl-C again."""
        sent = 0
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            sent += 1
            time.sleep(0.05)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (-signal.SIGINT, ''), err)
        self.assertGreater(sent, 1)

    def test_a_second_signal_ends_it_at_once(self):
        server = self.listen()
        client = start('--connect', self.addr, '--warmup', '0', '--time', FOREVER)
        self.addCleanup(client.kill)
        self.wait_for_load(client)
        self.stop(server.pid, client)
        self.interrupt_until_it_ends(client)
        server.send_signal(signal.SIGCONT)
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(timeout=60), 0, 'a responder that is interrupted ends well')

    def test_no_process_is_left(self):
        process = start('--warmup', '0', '--time', FOREVER)
        self.addCleanup(process.kill)
        self.wait_for_load(process)
        with open(f'/proc/{process.pid}/task/{process.pid}/children', encoding='ascii') as file:
            child = int(file.read())
        self.stop(child, process)
        self.interrupt_until_it_ends(process)
        deadline = time.monotonic() + 60
        while state_of(child) not in (None, 'Z', 'X'): # it may never be reaped
            self.assertLess(time.monotonic(), deadline, 'the responder outlives its requester')
            time.sleep(0.01)


if __name__ == '__main__':
    unittest.main(verbosity=1)
