#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-bench as its users run it: both ways to have two sides, peers that die, and wrong
usage. Most of the time is spent waiting."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from bench_tools import BENCH, run
from versions import needs_version2


class Sides(unittest.TestCase):
    """Starts a bench that starts both sides."""

    def start(self, *args):
        return subprocess.Popen([BENCH, '--lcores', 'any', '--time', '600', *args],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True)

    def child_of(self, process):
        """Returns the process of the responder when it serves connections, which is when it has a
        listening socket."""
        while process.poll() is None:
            with open(f'/proc/{process.pid}/task/{process.pid}/children') as file:
                children = file.read().split()
            if children and len(os.listdir(f'/proc/{children[0]}/fd')) > 6:
                return int(children[0])
        self.fail(process.stderr.read())

    def test_a_core_that_is_not_there(self):
        for args in (['--lcores', '0,900'], ['--threads', '--lcores', '0,900'],
                     ['--lcores', '0,1,900', '--time', '0.1'],
                     ['--listen', 'weir-test-no-core', '--lcores', '0,900']):
            done = run(*args)
            self.assertEqual(done.returncode, 1, args)
            self.assertIn('this machine has no CPU 900; name some of', done.stderr)
            self.assertNotIn('responder on', done.stderr)

    def test_the_responder_is_killed(self):
        process = self.start()
        os.kill(self.child_of(process), signal.SIGKILL)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn('ended by signal 9', said)

    def test_the_responder_is_stopped(self):
        process = self.start('--time', '1')
        os.kill(self.child_of(process), signal.SIGSTOP)
        _, said = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 1)
        self.assertIn('killed', said)

    def test_an_end_without_a_word(self):
        done = subprocess.run(['prlimit', '--fsize=100000', BENCH, '--lcores', 'any', '--time',
                               '0.1'],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertNotEqual(done.stderr, '')


class Death(unittest.TestCase):
    def setUp(self):
        self.addr = f'weir-test-bench-{os.getpid()}-{time.monotonic_ns()}'
        self.server = self.listen()

    def tearDown(self):
        self.server.send_signal(signal.SIGCONT)
        self.server.terminate()
        self.assertEqual(self.server.wait(timeout=60), 0, 'the responder did not end well')
        self.server.stderr.close()

    def start(self, *args):
        return subprocess.Popen([BENCH, '--lcores', 'any', *args], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def wait_for_line(self, process, text):
        while line := process.stderr.readline().decode():
            if text in line:
                return
        self.fail(f"ended without '{text}'")

    def listen(self, *args):
        server = self.start('--listen', self.addr, *args)
        self.wait_for_line(server, 'responder on')
        return server

    def load(self, *args):
        return self.start('--connect', self.addr, '--workload', 'mixed', '--depth', '16', *args)

    def load_that_runs(self, *args):
        client = self.load(*args)
        self.wait_for_line(client, 'connected to')
        time.sleep(0.2) # gives the load time to begin; the test does not depend on it
        return client

    def finish_one(self):
        client = self.load('--time', '0.2', '--warmup', '0.05', '--verify')
        self.assertEqual(client.wait(timeout=60), 0, client.stderr.read())
        client.stderr.close()

    def test_a_requester_is_killed_under_load(self):
        for _ in range(5):
            client = self.load_that_runs('--time', '600')
            self.assertIsNone(client.poll())
            client.kill()
            client.wait()
            client.stderr.close()
        self.finish_one()

    def test_the_responder_is_killed_under_load(self):
        client = self.load_that_runs('--time', '600')
        self.assertIsNone(client.poll())
        self.server.kill()
        self.server.wait()
        self.server.stderr.close()
        status = client.wait(timeout=60)
        text = client.stderr.read().decode()
        client.stderr.close()
        self.assertEqual(status, 1)
        # The loss is reported by the end of the socket, long before the load would end, and not by
        # a timeout.
        self.assertIn('connection was lost: Connection reset', text)
        self.assertNotIn('did not complete', text)
        self.server = self.listen()
        self.finish_one()

    def files(self):
        return len(os.listdir(f'/proc/{self.server.pid}/fd'))

    def test_the_responder_is_killed_and_started_under_load(self):
        alone = self.files()
        client = subprocess.Popen([BENCH, '--lcores', 'any', '--connect', self.addr, '--workload',
                                   'mixed', '--depth', '16', '--connections', '3', '--warmup', '0',
                                   '--time', '8', '--verify', '--reconnect', '--json', '-'],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL)
        self.wait_for_line(client, 'connected to')
        remade = 0
        while remade < 3 and client.poll() is None:
            self.server.kill()
            self.server.wait()
            self.server.stderr.close()
            self.server = self.listen()
            while self.files() <= alone and client.poll() is None:
                time.sleep(0.01) # until the requester has connected again
            remade += client.poll() is None
        out, err = client.communicate(timeout=60)
        self.assertEqual(client.returncode, 0, err)
        result = json.loads(out)
        self.assertEqual((result['errors'], result['verify_failures']), (0, 0))
        counters = result['requester_counters']
        self.assertGreaterEqual(remade, 1)
        self.assertGreaterEqual(counters['reconnects'], remade)
        self.assertGreater(counters['calls_resent'], 0)
        self.assertEqual(counters['calls_given_up'] + counters['calls_failed'], 0)
        self.finish_one()

    def test_a_responder_that_is_made_for_less_is_named(self):
        for load in (['--workload', 'read', '--size', '8m'],
                     ['--workload', 'write', '--size', '2m']):
            client = self.start('--connect', self.addr, *load, '--time', '0.1', '--warmup', '0')
            self.assertEqual(client.wait(timeout=60), 1)
            self.assertIn('give it the same --size', client.stderr.read().decode())
            client.stderr.close()
        client = self.start('--connect', self.addr, '--connections', '80', '--time', '0.1')
        self.assertEqual(client.wait(timeout=60), 1)
        self.assertIn('start the responder with --connections 80', client.stderr.read().decode())
        client.stderr.close()
        self.finish_one()

    @needs_version2
    def test_a_responder_of_another_version_is_named(self):
        addr, self.addr = self.addr, self.addr + '-v2'
        server = self.listen('--protocol', 'v2')
        client = self.start('--connect', self.addr, '--protocol', 'v1', '--time', '0.1', '--warmup',
                            '0')
        self.assertEqual(client.wait(timeout=60), 1)
        said = client.stderr.read().decode()
        client.stderr.close()
        self.assertIn('speaks versions 2 to 2 of RPC-over-RDMA, and was called by version 1', said)
        self.assertIn('give both sides the same --protocol, or --protocol auto', said)
        self.assertNotIn('give it the same --size', said)
        server.terminate()
        self.assertEqual(server.wait(timeout=60), 0)
        server.stderr.close()
        self.addr = addr

    def test_the_responder_is_stopped(self):
        client = self.load_that_runs('--time', '5') # the load runs for five more seconds after ten
        self.server.send_signal(signal.SIGSTOP)
        self.assertEqual(client.wait(timeout=60), 1)
        self.server.send_signal(signal.SIGCONT)
        text = client.stderr.read().decode()
        client.stderr.close()
        self.assertIn('Connection timed out', text)
        self.assertIn('check that it still runs', text)
        self.finish_one()

    def test_no_more_connect_at_a_time_than_a_listener_takes(self):
        def sockets(process):
            try:
                names = [os.readlink(f'/proc/{process.pid}/fd/{fd}')
                         for fd in os.listdir(f'/proc/{process.pid}/fd')]
            except OSError:
                return 0 # the process is opening or closing them, or has ended
            return sum(name.startswith('socket:') for name in names)

        self.server.kill()
        self.server.wait()
        self.server.stderr.close()
        self.server = self.listen('--connections', '100')
        self.server.send_signal(signal.SIGSTOP)
        client = self.start('--connect', self.addr, '--connections', '100', '--active', '1',
                            '--calls', '10', '--warmup', '0')
        # The connections of the requester wait in the listener's queue, which holds 64, until the
        # listener runs again.
        while sockets(client) < 32 and client.poll() is None:
            time.sleep(0.01)
        self.server.send_signal(signal.SIGCONT)
        self.assertEqual(client.wait(timeout=60), 0, client.stderr.read())
        client.stderr.close()

    def test_a_requester_is_stopped_and_another_works(self):
        client = self.load_that_runs('--time', '600')
        client.send_signal(signal.SIGSTOP)
        self.finish_one()
        client.kill()
        client.wait()
        client.stderr.close()


class Mistakes(unittest.TestCase):
    def expect(self, status, text, *args):
        done = run(*args)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, '')

    def test_usage(self):
        self.expect(2, 'no-such', '--no-such')
        self.expect(2, '--help', '--no-such')
        self.expect(2, 'workload', '--workload', 'rread')
        self.expect(2, 'from 1 to 1024', '--depth', '0')
        self.expect(2, 'from 1 to 1024', '--depth', '-1')
        self.expect(2, 'from 0 to', '--size', '4q')
        self.expect(2, 'from 0 to', '--size', '99g')
        self.expect(2, 'driver', '--driver', 'none')
        self.expect(2, 'for tests', '--driver', 'sim')
        self.expect(2, 'list', '--lcores', '0,')
        self.expect(2, 'list', '--lcores', 'x')
        self.expect(2, 'named twice', '--lcores', '0,0')
        self.expect(2, 'named twice', '--lcores', '0-1,1')
        self.expect(2, 'list', '--lcores', '')
        self.expect(2, 'window or pool', '--exposure', 'both')
        self.expect(2, 'only one', '--listen', 'a', '--connect', 'b')
        self.expect(2, "weir-bench: 'stray': an argument", 'stray')
        self.expect(2, '/no/such.ini', '--profile', '/no/such.ini')
        self.expect(2, 'seconds', '--time', 'nan')

    def test_help_and_version(self):
        done = run('--help')
        self.assertEqual(done.returncode, 0)
        for option in ('--driver', '--listen', '--connect', '--threads', '--size', '--depth',
                       '--time', '--warmup', '--lcores', '--connections', '--inline', '--exposure',
                       '--protocol', '--extension', '--verify', '--profile', '--json'):
            self.assertIn(option, done.stdout)
        self.assertIn('weir-bench', run('--version').stdout)

    def test_a_name_in_another_network_namespace(self):
        said = run('--connect', 'weir-test-nobody', '--time', '0.1').stderr
        self.assertIn("can't connect to 'weir-test-nobody': Connection refused; a name reaches "
                      "only the same network "
                      'namespace', said)
        self.assertIn('let the other side listen at a path', said)
        said = run('--connect', '/run/weir-test-nobody', '--time', '0.1').stderr
        self.assertNotIn('namespace', said)

    def test_a_driver_that_does_not_open(self):
        for side in ([], ['--threads'], ['--connect', 'weir-test-nobody'],
                     ['--listen', 'weir-test-nobody']):
            done = run(*side, '--driver-options', 'bogus=1', '--lcores', 'any', '--quiet')
            self.assertEqual((done.returncode, done.stdout), (2, ''), done.stderr)
            self.assertIn("driver_options: 'bogus=1' are not valid for driver shm", done.stderr)

    def test_nobody_listens(self):
        done = run('--connect', 'weir-test-nobody', '--lcores', 'any')
        self.assertEqual(done.returncode, 1)
        self.assertIn('--listen weir-test-nobody', done.stderr)

    def test_address_in_use(self):
        addr = f'weir-test-in-use-{os.getpid()}'
        server = subprocess.Popen([BENCH, '--listen', addr, '--lcores', 'any'],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            # After the notice on exposure.
            self.assertTrue(any(b'responder on' in line for line in server.stderr))
            done = run('--listen', addr, '--lcores', 'any')
            self.assertEqual(done.returncode, 1)
            self.assertIn(addr, done.stderr)
        finally:
            server.terminate()
            server.wait(timeout=60)
            server.stderr.close()

    def test_a_core_that_is_not_there(self):
        done = run('--lcores', '1000,1001', '--time', '0.1')
        self.assertEqual(done.returncode, 1)
        self.assertIn('this machine has no CPU 1000; name some of', done.stderr)

    def test_a_bad_profile_names_file_and_line(self):
        with tempfile.NamedTemporaryFile('w', suffix='.ini') as file:
            file.write('[connection]\ncredits = 16\ninlin = 4096\n')
            file.flush()
            done = run('--profile', file.name)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f'{file.name}:3', done.stderr)

    def test_a_profile_with_a_driver_for_tests(self):
        with tempfile.NamedTemporaryFile('w', suffix='.ini') as file:
            file.write('[engine]\ndriver = sim\n')
            file.flush()
            self.expect(2, 'for tests', '--profile', file.name, '--calls', '1', '--lcores', 'any')
            done = run('--profile', file.name, '--driver', 'shm', '--calls', '1', '--lcores', 'any')
            self.assertEqual(done.returncode, 0, done.stderr)

if __name__ == '__main__':
    unittest.main(verbosity=1)
