#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-top, with weir-bench as the process, on the terminals of tmux and as text. Arguments:
weir-bench and weir-top."""
import os
import re
import shlex
import signal
import subprocess
import sys
import unittest

import watch_tools
from watch_tools import until

TOP = os.path.abspath(sys.argv.pop(1))
HEADS = ['ENGINE', 'TIMES OF', 'WAITING', 'CONN', 'OLDEST CALL']
# Calls are stuck after a millisecond.
STUCK = '[engine]\ntelemetry = on\nlatency = stages\nidle = adaptive\nstuck_call_ms = 1\n'


class Screen(watch_tools.Case):
    def setUp(self):
        super().setUp()
        self.env = {**self.env, 'TMUX_TMPDIR': self.folder, 'LC_ALL': 'C.UTF-8'}
        self.env.pop('TMUX', None)

    def tmux(self, *args):
        return subprocess.run(['tmux', '-L', 'weir', '-f', '/dev/null', *args], env=self.env,
                              check=True, capture_output=True, text=True, timeout=60).stdout

    def show(self, *args, columns=80, rows=24):
        """Runs weir-top on a terminal, which shows its exit status afterwards."""
        command = ' '.join(map(shlex.quote, [TOP, '--interval', '0.2', *args]))
        self.tmux('new-session', '-d', '-x', str(columns), '-y', str(rows),
                  command + '; echo "status $?"; sleep 600')
        self.addCleanup(self.leave)

    def leave(self):
        """Ends weir-top before its terminal, so that no signal interrupts a leak sanitizer."""
        try:
            self.press('q')
            self.shows('status ')
        finally:
            self.tmux('kill-server')

    def lines(self):
        return self.tmux('capture-pane', '-p').split('\n')

    def shows(self, pattern):
        """Waits until the screen has a line that begins with a match, and returns the match."""
        def find():
            return next(filter(None, (re.match(pattern, line) for line in self.lines())), None)
        return until(pattern, find)

    def press(self, *keys):
        self.tmux('send-keys', *keys)

    def resize(self, columns, rows):
        self.tmux('resize-window', '-x', str(columns), '-y', str(rows))

    def test_a_live_run_on_80_columns_and_24_rows(self):
        process = self.start()
        self.show()
        self.shows(r'weir-top: process %d; engines 2; connections 4; calls \d+' % process.pid)
        for head in HEADS:
            self.shows(head)
        for engine in '1', '2':
            self.shows(r' +%s shm +\d+\.\d%% +[\d.]+ +[\d.]+k +[\d.]+k' % engine)
        for side in 'calls', 'requests':
            self.shows(side + r' +all +[\d.]+ +[\d.]+[num]?s +[\d.]+[num]?s +[\d.]+[num]?s ')
            self.shows(side + r' +\d+/1/2 +')
        for side in 'requester', 'responder':
            self.shows(r'\d +\d %s +open +\d+/\d+ +\d+ +[\d.]+ +[\d.]+k ' % side)
        lines = self.lines()
        self.assertEqual(len(lines), 25)  # the text ends with the end of a line
        self.assertTrue(all(len(line) <= 80 for line in lines))
        self.press('q')
        self.shows('status 0')

    def test_calls_that_wait_and_are_stuck(self):
        responder = self.listen()
        self.start('--depth', '4', profile=STUCK, address=responder.address)
        self.show('--sort', 'credits')
        self.shows(r'\d +\d requester open +')
        responder.process.send_signal(signal.SIGSTOP)
        self.shows(r'requester +sent +the reply +[1-9]\d* +[\d.]+s')
        self.shows(r'weir-top: .*; stuck [1-9]')
        self.shows(r'0x[0-9a-f]{8} +requester +\d+ \d+/1/2 +[\d.]+s stuck the reply')
        self.shows(r'\d +\d requester open +[1-9]\d*/\d+ +[1-9]')
        self.shows(r'q quit .*\| by credits \|')

    def test_keys(self):
        self.start()
        self.show()
        self.shows('CONN')
        self.press('p')
        self.shows(r'weir-top \(paused\): process')
        self.press('p')
        self.shows('weir-top: process')
        for order in 'calls', 'bytes', 'credits', 'id':
            self.press('s')
            self.shows(r'q quit .*\| by %s \|' % order)
        self.press('Tab', 'Left', 'Right', 'BTab', 'Up', 'Down', 'PPage', 'NPage', 'r', 'x', 'F5')
        self.shows('CONN')
        self.press('q')
        self.shows('status 0')

    def test_a_paused_screen_does_not_change(self):
        process = self.start()
        self.show()
        self.shows('CONN')
        self.press('p')
        self.shows(r'weir-top \(paused\): process')
        before = self.lines()
        self.end(process)
        self.press('Down')  # the screen is drawn again
        self.assertEqual(self.lines(), before)
        self.press('p')
        self.shows('weir-top: the process has ended')

    def test_more_connections_than_rows(self):
        self.start('--connections', '20')
        self.show()
        self.shows(r'CONN .*\+$')
        self.shows(r'q quit .*\| 1-\d+ of 40$')
        self.press('Down', 'Down', 'Down')
        self.shows(r'q quit .*\| 4-\d+ of 40$')
        self.press('Up')
        self.shows(r'q quit .*\| 3-\d+ of 40$')
        for _ in range(20):
            self.press('NPage')
        self.shows(r'q quit .*-40 of 40$')
        for _ in range(20):
            self.press('PPage')
        self.shows(r'q quit .*\| 1-\d+ of 40$')
        self.resize(120, 70)
        self.shows(r'40 +\d responder')

    def test_a_terminal_that_is_small_or_resized(self):
        self.start()
        self.show(columns=60, rows=10)
        self.shows('weir-top needs 80x24; this terminal has 60x10')
        self.resize(80, 24)
        self.shows('CONN')
        self.resize(79, 24)
        self.shows('weir-top needs 80x24; this terminal has 79x24')
        self.resize(1, 1)
        self.resize(300, 100)
        self.shows('CONN')
        self.press('q')
        self.shows('status 0')

    def test_a_process_that_ends_and_the_next_one(self):
        process = self.start()
        self.show('--socket', self.path)
        self.shows('weir-top: process %d;' % process.pid)
        self.end(process)
        self.shows('weir-top: the process has ended; waiting for a process: /')
        process = self.start()
        self.shows('weir-top: process %d;' % process.pid)
        self.shows(r'calls +all +[\d.]+ ')
        self.press('q')
        self.shows('status 0')

    def test_a_process_that_is_stopped(self):
        process = self.start()
        self.show()
        self.shows('weir-top: process %d;' % process.pid)
        process.send_signal(signal.SIGSTOP)
        self.shows('weir-top: the process does not answer; waiting for a process')
        process.send_signal(signal.SIGCONT)
        self.shows('weir-top: process %d;' % process.pid)

    def test_signals_restore_the_terminal(self):
        self.start()
        self.show()
        for number in 'INT', 'TERM', 'HUP':
            self.shows('CONN')
            pid = self.tmux('list-panes', '-F', '#{pane_pid}').strip()
            subprocess.run(['pkill', '-' + number, '-P', pid, '-x', 'weir-top'], check=True)
            self.shows('status 0')
            self.tmux('respawn-pane', '-k')

    def test_an_unknown_terminal(self):
        self.start()
        self.show()
        self.tmux('respawn-pane', '-k', 'TERM=no-such-terminal %s; echo "status $?"; sleep 600'
                  % shlex.quote(TOP))
        self.shows("weir-top: the terminal 'no-such-terminal' is not known: set TERM")
        self.shows('status 1')


class Text(watch_tools.Case):
    def run_top(self, *args, status=0, **options):
        done = subprocess.run([TOP, '--interval', '0.1', *args], env=self.env, text=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
                              check=False, **{'stdout': subprocess.PIPE, **options})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_once(self):
        process = self.start()
        text = self.run_top('--once')
        self.assertTrue(text.startswith('weir-top: process %d; engines 2;' % process.pid))
        for head in HEADS:
            self.assertIn('\n' + head, text)
        self.assertEqual(len(re.findall(r'\n\d+ +\d \w+ +open ', text)), 4)
        self.assertRegex(text, r'\n +1 shm +\d+\.\d% ')

    def test_batch(self):
        self.start()
        text = self.run_top('--batch', '--count', '3', '--sort', 'bytes')
        self.assertEqual(text.count('weir-top: process'), 3)

    def test_a_process_that_ends_while_it_is_printed(self):
        process = self.start()
        printed = subprocess.Popen([TOP, '--batch', '--interval', '0.1'], env=self.env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn('weir-top: process', printed.stdout.readline())
        self.end(process)
        _, said = printed.communicate(timeout=60)
        self.assertEqual(printed.returncode, 3)
        self.assertRegex(said, 'weir-top: .*the process has ')

    def test_a_reader_that_went_away(self):
        self.start()
        reader, writer = os.pipe()
        os.close(reader)
        said = self.run_top('--batch', status=1, stdout=writer)
        os.close(writer)
        self.assertIn("standard output can't be written", said)

    def test_several_processes(self):
        self.start()
        self.start()
        said = self.run_top('--once', status=1)
        self.assertIn('several processes use weir: choose one with --socket:', said)
        self.assertRegex(said, r'  --socket %s  # process \d+\n' % re.escape(self.path))
        self.assertIn('--socket %s:1 ' % self.path, said)
        self.assertIn('weir-top: process', self.run_top('--once', '--socket', self.path + ':1'))

    def test_no_process(self):
        self.assertIn('no process has a telemetry socket below', self.run_top('--once', status=1))
        self.assertIn('no process with prefix none has',
                      self.run_top('--once', '--prefix', 'none', status=1))
        self.assertIn('No such file or directory: no process serves this socket',
                      self.run_top('--once', '--socket', '/none/socket', status=1))
        self.assertIn("can't be read: Not a directory",
                      self.run_top('--once', '--folder', __file__, status=1))
        # a socket that a process left when it was killed
        self.end(self.start())
        self.assertIn('uses weir: ', self.run_top('--once', status=1))
        self.assertIn('Connection refused', self.run_top('--once', status=1))

    def test_wrong_usage(self):
        for text, *args in (
                ('--help lists the options', '--no-such-option'),
                ("unexpected argument 'x'", '--once', 'x'),
                ('not a terminal: use --once', ),
                ('--count belongs to --batch', '--once', '--count', '2'),
                ('expected id, calls', '--once', '--sort', 'x'),
                ('--interval', '--once', '--interval', '0.01'),
                ('--interval', '--once', '--interval', 'x'),
                ('--count', '--batch', '--count', '0'),
                ('file prefix', '--once', '--prefix', 'a/b'),
                ('too long', '--once', '--socket', 'a' * 200),
                ('--socket excludes', '--once', '--socket', '/x', '--folder', '/y')):
            with self.subTest(args=args):
                self.assertIn(text, self.run_top(*args, status=2))


if __name__ == '__main__':
    unittest.main(verbosity=2)
