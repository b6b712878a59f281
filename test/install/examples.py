# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the examples, which the tests of installed examples and of the tree share."""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading

from installed import run

LIMIT = 60 # seconds, for one step on a busy machine
REPORT = 'Sanitizer|runtime error:' # of a program that was compiled with a sanitizer


class Server:
    """An example that listens. Its output is read until its end, so that it never waits."""

    def __init__(self, env, *args):
        self._process = subprocess.Popen([str(arg) for arg in args], stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True,
                                         stdin=subprocess.DEVNULL, env={**os.environ, **env})
        self._lines = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            with self._changed:
                self._lines.append(line.rstrip('\n'))
                self._changed.notify_all()
        with self._changed:
            self._lines.append(None)
            self._changed.notify_all()

    def wait_for(self, *lines):
        with self._changed:
            found = self._changed.wait_for(
                lambda: set(lines) <= set(self._lines) or self._lines[-1:] == [None], LIMIT)
            if not found or not set(lines) <= set(self._lines):
                raise AssertionError(f'no {lines} in {self._lines}')

    def stop(self):
        """Ends the program by a signal. Returns its exit status and its lines."""
        if not self._process.stdout.closed:
            self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._thread.join()
        self._process.stdout.close()
        return status, [line for line in self._lines if line is not None]


def fetch(path):
    """Returns what a server of HTTP at a unix socket answers."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(LIMIT)
        sock.connect(str(path))
        sock.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
        with sock.makefile('rb') as answer:
            return answer.read().decode()


class Scenarios:
    """Tests of the examples. A subclass has the programs."""
    packages = () # of pkg-config, with which the examples were linked
    env = {} # variables for the programs
    names = 0

    def setUp(self):
        Scenarios.names += 1
        self.name = f'examples-{os.getpid()}-{self.names}'

    def path(self, example, package):
        """Returns the path of a program that is linked with one of the packages."""
        raise NotImplementedError

    def check_reports(self, text):
        """Checks that no sanitizer has reported anything in the output of a program."""
        self.assertNotRegex(text, REPORT)

    def stop(self, server):
        status, lines = server.stop()
        self.check_reports('\n'.join(lines))
        return status, lines

    def serve(self, example, *args, lines=None, package=None):
        server = Server(self.env, self.path(example, package or self.packages[0]), *args)
        self.addCleanup(self.stop, server)
        server.wait_for(*(lines or [f'listening at {self.name}']))
        return server

    def run_example(self, example, *args, package=None):
        status, text = run(self.path(example, package or self.packages[0]), *args, env=self.env)
        self.check_reports(text)
        return status, text

    def greets(self, server, package=None):
        """Checks that a responder greets a caller, and ends in order."""
        status, text = self.run_example('hello', '--connect', self.name, '--text', 'you',
                                        package=package)
        ended, lines = self.stop(server)
        self.assertEqual((status, text.splitlines()[-1:]), (0, ['Hello, you!']), text)
        self.assertEqual(ended, 0, lines)
        return lines

    def test_hello(self):
        for package in self.packages:
            with self.subTest(package=package):
                server = self.serve('hello', '--listen', self.name, package=package)
                self.greets(server, package)

    def test_hello_without_room_for_its_output(self):
        server = self.serve('hello', '--listen', self.name)
        with open('/dev/full', 'w', encoding='ascii') as full:
            done = subprocess.run([self.path('hello', self.packages[0]), '--connect', self.name],
                                  env={**os.environ, **self.env}, stdout=full, check=False,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        self.stop(server)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertIn('standard output', done.stderr)

    def test_hello_explains_errors(self):
        status, text = self.run_example('hello', '--help')
        self.assertEqual(status, 0)
        self.assertIn('--listen NAME', text)
        for args, message in (((), 'give either --listen or --connect'),
                              (('--listen', 'a', '--connect', 'b'), 'give either'),
                              (('--connect', 'a', 'b'), 'and nothing else'),
                              (('--connect', 'a', '--text', 'x' * 201), 'longer than 200 bytes'),
                              (('--connect', 'a', '--driver', 'none'), 'driver')):
            status, text = self.run_example('hello', *args)
            self.assertEqual(status, 2, text)
            self.assertIn(message, text)
        status, text = self.run_example('hello', '--connect', self.name)
        self.assertEqual(status, 1)
        self.assertIn(f'{self.name}: Connection refused', text)

    def test_epoll_loop(self):
        server = self.serve('epoll-loop', self.name)
        for _ in range(2):
            status, text = self.run_example('hello', '--connect', self.name)
            self.assertEqual(status, 0, text)
        server.wait_for('2 calls') # the timer runs, although weir sleeps
        self.greets(server)

    def test_reactor(self):
        server = self.serve('reactor', self.name)
        status, text = self.run_example('hello', '--connect', self.name)
        self.assertEqual(status, 0, text)
        server.wait_for('1 calls') # the other poller runs, too
        self.assertRegex(self.greets(server)[-1], r'^[1-9]\d* rounds without work$')

    def borrows(self, text):
        """Checks the output of 'borrowed-eal'."""
        self.assertEqual(text.splitlines()[-1], 'ok', text)
        self.assertIn('for a result: Operation not supported\n', text)
        # The log says what the memory lacks.
        self.assertRegex(text, 'it is not of a memfd.*Use weir_region_create')

    def test_borrowed_eal(self):
        for package in self.packages:
            with self.subTest(package=package):
                status, text = self.run_example('borrowed-eal', package=package)
                self.assertEqual(status, 0, text)
                self.borrows(text)

    def test_borrowed_eal_on_hugepages(self):
        """EAL says so if too few hugepages are free, and the program ends."""
        status, text = self.run_example('borrowed-eal', '--in-memory')
        if status == 0:
            self.borrows(text)
        else:
            self.assertEqual((status, text.splitlines()[-1]),
                             (1, 'rte_eal_init: Input/output error'), text)
            self.assertRegex(text, 'Cannot (init memory|get hugepage information)')

    def test_metrics(self):
        with tempfile.TemporaryDirectory() as folder:
            self.exports_metrics(pathlib.Path(folder, 'metrics.sock'))

    def exports_metrics(self, path):
        server = self.serve('metrics', self.name, path)
        self.run_example('hello', '--connect', self.name)
        head, text = fetch(path).split('\r\n\r\n')
        self.assertIn('200 OK', head)
        for line in text.splitlines():
            self.assertRegex(line, '^# (HELP|TYPE) weir_[a-z0-9_]+ .+|'
                                   r'^weir_[a-z0-9_]+(\{.*\})? \d+$')
        self.assertIn('\nweir_requests_received_total 1\n', text)
        self.assertIn('\nweir_requests_open 0\n', text)
        self.greets(server)
        self.assertFalse(path.exists())

    def test_metrics_after_a_kill(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'metrics.sock')
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(str(path)) # as a process that was killed leaves it
            self.exports_metrics(path)

    def test_metrics_keeps_other_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'precious')
            path.write_text('precious', encoding='ascii')
            status, text = self.run_example('metrics', self.name, path)
            self.assertEqual((status, text.splitlines()[-1]),
                             (1, f'{path}: Address already in use'), text)
            self.assertEqual(path.read_text(encoding='ascii'), 'precious')

    def test_blockstore(self):
        shards = 2
        options = ('--shards', shards, '--blocks', 64)
        for package in self.packages:
            with self.subTest(package=package):
                lines = [f'listening at {self.name}.{shard}' for shard in range(shards)]
                server = self.serve('blockstore', '--listen', self.name, *options, lines=lines,
                                    package=package)
                status, text = self.run_example('blockstore', '--connect', self.name, *options,
                                                '--rounds', 25, package=package)
                ended, lines = self.stop(server)
                # 8 slots read 4 blocks twice in each round
                self.assertEqual((status, text.splitlines()[-1]), (0, '3200 blocks verified'), text)
                for shard in range(shards):
                    self.assertIn(f'{self.name}.{shard}: 200 writes, 0 of them copied', lines)
                self.assertEqual(ended, 0)

    def test_blockstore_reports_a_range(self):
        options = ('--blocks', 31) # the last slot of the client has the blocks 28 to 31
        server = self.serve('blockstore', '--listen', self.name, *options,
                            lines=[f'listening at {self.name}.0'])
        status, text = self.run_example('blockstore', '--connect', self.name, '--rounds', 1)
        self.stop(server)
        self.assertEqual((status, text.splitlines()[-1]),
                         (1, 'a call: Numerical result out of range'), text)
