#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""weir-hostile over shm against weir's programs: every case and a few thousand mutations, while
another connection of the same engine continues to work. weir-hostile also runs against itself, to
check that it finds errors."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from versions import needs_version2

HOSTILE, BENCH, NFSD = sys.argv[1:4]
del sys.argv[1:4]
PROFILE = os.path.join(os.path.dirname(__file__), '../../config/laptop.ini')
WAIT = ['--timeout', '30000']  # expected events come in time on a busy machine
# Status 99 means that a sanitizer found something. weir-hostile treats 0 and 1 of a requester as an
# answer.
ENV = dict(os.environ, ASAN_OPTIONS='exitcode=99',
           UBSAN_OPTIONS='halt_on_error=1:exitcode=99:print_stacktrace=1',
           LSAN_OPTIONS='exitcode=99')


def unique(what):
    return f'weir-test-{what}-{os.getpid()}-{time.monotonic_ns()}'


def run(*args, timeout=300):
    return subprocess.run([HOSTILE, *WAIT, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, stdin=subprocess.DEVNULL, timeout=timeout, env=ENV)


def start(*command, **kwargs):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=ENV, **kwargs)


class Peer(unittest.TestCase):
    """Starts the program under attack, self.server, and keeps the results of its cases."""

    def setUp(self):
        self.addr = unique('hostile')
        self.log = tempfile.TemporaryFile('w+')
        self.addCleanup(self.log.close)
        self.server = None

    def tearDown(self):
        if self.server and self.server.returncode is None:
            self.server.kill()
            self.server.wait()

    def said(self):
        self.log.seek(0)
        return self.log.read()[-4000:]

    def serve(self, *command):
        self.server = start(*command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.addCleanup(self.server.stdout.close)

    def end(self):
        """Ends the server, which must still run. It must end normally on a signal, and without a
        leak."""
        self.assertIsNone(self.server.poll(), self.said())
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(timeout=60), 0, self.said())

    def attack(self, *args):
        done = run(*args)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr + self.said())
        return done.stdout


class Responder(Peer):
    def serve_bench(self, *args):
        self.serve(BENCH, '--listen', self.addr, '--profile', PROFILE, '--lcores', 'any', '--quiet',
                   *args)

    def load(self, *args):
        return start(BENCH, '--connect', self.addr, '--profile', PROFILE, '--lcores', 'any',
                     '--quiet', '--verify', '--workload', 'mixed', '--size', '4096', '--depth', '4',
                     '--warmup', '0', '--json', '-', *args, stdout=subprocess.PIPE, stderr=self.log,
                     text=True)

    def result(self, load):
        out, _ = load.communicate(timeout=120)
        self.assertEqual(load.returncode, 0, out + self.said())
        result = json.loads(out)
        self.assertEqual((result['errors'], result['verify_failures']), (0, 0))
        self.assertGreater(result['calls'], 0)
        return result

    def test_bench(self):
        self.serve_bench()
        said = self.attack('--connect', self.addr)
        self.assertEqual(said.count('ok  '), self.ncases())
        self.attack('--connect', self.addr, '--count', '2000', '--seed', '1')
        # In this mutation, the first segment is empty.
        self.attack('--connect', self.addr, '--count', '1', '--seed', '1795370041703028')
        self.attack('--connect', self.addr, '--count', '1000', '--seed',
                    str(time.time_ns() // 1000))
        self.end()

    @needs_version2
    def test_bench_of_version_2(self):
        self.serve(BENCH, '--listen', self.addr, '--profile', self.profile_of_version_2(),
                   '--lcores', 'any', '--quiet')
        v2 = ['--connect', self.addr, '--protocol', 'v2']
        self.assertEqual(self.attack(*v2).count('ok  '), self.ncases('v2'))
        self.attack(*v2, '--count', '2000', '--seed', '1')
        self.attack(*v2, '--count', '1000', '--seed', str(time.time_ns() // 1000))
        self.end()

    def test_bench_that_does_not_speak_it(self):
        self.serve_bench()
        self.attack('--connect', self.addr, '--case', 'null')
        done = run('--timeout', '500', '--connect', self.addr, '--protocol', 'v2')
        self.assertEqual(done.returncode, 3)
        self.assertIn('no responder of program bench answers', done.stderr)
        self.end()

    def ncases(self, protocol='v1'):
        v1, v2 = run('--list').stdout.split('Against a requester')[0].split(
            'Against a responder of version 2')
        listed = (v1 if protocol == 'v1' else v2).splitlines()[1:]
        self.assertGreater(len(listed), 80)
        return len(listed)

    def profile_of_version_2(self):
        """Returns a profile for a server that speaks both versions, with all of the extension."""
        file = tempfile.NamedTemporaryFile('w', suffix='.ini')
        self.addCleanup(file.close)
        with open(PROFILE, encoding='utf-8') as laptop:
            file.write(laptop.read().replace('[connection]\n',
                                             '[connection]\nprotocol = auto\nextension = all\n'))
        file.flush()
        return file.name

    def file_of(self, handle):
        file = tempfile.NamedTemporaryFile('w')
        self.addCleanup(file.close)
        file.write(handle)
        file.flush()
        return f'@{file.name}'

    def test_nfsd(self):
        self.serve(NFSD, '--driver', 'shm', '--listen', self.addr, '--export', 'files=ram:16m',
                   '--profile', PROFILE, '--foreground')
        handle = self.server.stdout.readline().split()[-1]
        nfs = ['--connect', self.addr, '--program', 'nfs', '--handle', self.file_of(handle)]
        self.attack(*nfs)
        self.attack(*nfs, '--count', '2000', '--seed', '1')
        self.attack(*nfs, '--count', '1000', '--seed', str(time.time_ns() // 1000))
        self.end()

    @unittest.skipIf(os.geteuid() != 0, 'only root serves a directory')
    def test_nfsd_of_a_directory(self):
        """Tests a server whose answers are late, because threads make them. The outcome of one
        mutation must be separated from that of the next."""
        with tempfile.TemporaryDirectory() as folder:
            exports, served = os.path.join(folder, 'exports'), os.path.join(folder, 'served')
            os.mkdir(served)
            with open(exports, 'w', encoding='utf-8') as file:
                file.write(f'[/files]\nbackend = dir:{served}\nroot_squash = no\n')
            self.serve(NFSD, '--driver', 'shm', '--listen', self.addr, '--exports', exports,
                       '--state', os.path.join(folder, 'state'), '--no-mount', '--profile', PROFILE,
                       '--foreground')
            handle = self.server.stdout.readline().split()[-1]
            nfs = ['--connect', self.addr, '--program', 'nfs', '--handle', self.file_of(handle)]
            self.attack(*nfs)
            self.attack(*nfs, '--count', '8000', '--seed', '1')
            self.end()

    @needs_version2
    def test_nfsd_of_version_2(self):
        self.serve(NFSD, '--driver', 'shm', '--listen', self.addr, '--export', 'files=ram:16m',
                   '--profile', self.profile_of_version_2(), '--foreground')
        handle = self.server.stdout.readline().split()[-1]
        nfs = ['--connect', self.addr, '--protocol', 'v2', '--program', 'nfs', '--handle',
               self.file_of(handle)]
        self.attack(*nfs)
        self.attack(*nfs, '--count', '2000', '--seed', '1')
        self.end()

    def test_others_lose_nothing(self):
        """Tests a connection of the same engine, with all data checked, during all cases and then
        during mutations without a pause."""
        self.serve_bench()
        self.attack('--connect', self.addr, '--case', 'null')  # the server is running
        alone = self.result(self.load('--time', '1'))
        load = self.load('--time', '4')
        attacks = 0
        while load.poll() is None:
            seed = str(1000000 * attacks)
            self.attack('--connect', self.addr,
                        *([] if attacks == 0 else ['--count', '1000', '--seed', seed]))
            attacks += 1
        under = self.result(load)
        print('beside weir-hostile: %.0f calls/s, alone: %.0f; %d attacks' %
              (under['rpc_per_s'], alone['rpc_per_s'], attacks), file=sys.stderr)
        self.end()


class Requester(Peer):
    def command(self, *args):
        return ' '.join([BENCH, '--connect', self.addr, '--profile', os.path.abspath(PROFILE),
                         '--lcores', 'any', '--quiet', *args, '>/dev/null', '2>&1'])

    def test_bench(self):
        self.attack('--listen', self.addr, '--run',
                    self.command('--workload', 'read', '--size', '1000', '--calls', '3'))

    def test_bench_with_mutations(self):
        read = self.command('--workload', 'read', '--size', '1000', '--calls', '400')
        self.attack('--listen', self.addr, '--count', '1500', '--seed', '1', '--run', read)
        self.attack('--listen', self.addr, '--count', '500', '--seed', str(time.time_ns() // 1000),
                    '--run', read)

    def test_sends_no_more_than_the_responder_takes(self):
        """Tests calls of 2000 bytes from a requester whose inline threshold is 4096, to a responder
        whose threshold is 1024."""
        cases = ('absent', 'short', 'version-2', 'smallest')
        self.attack('--listen', self.addr,
                    *(word for name in cases for word in ('--case', 'accept-private-' + name)),
                    '--run', self.command('--workload', 'null', '--size', '2000', '--calls', '3'))


class Itself(Peer):
    """Runs each side of weir-hostile against the other, which breaks the protocol. weir-hostile
    must find that."""

    def attack_itself(self, case, *args):
        responder = start(HOSTILE, *WAIT, '--listen', self.addr, '--case', case,
                          stdout=subprocess.DEVNULL, stderr=self.log)
        try:
            return run('--connect', self.addr, '--case', 'null', *args)
        finally:
            responder.kill()
            responder.wait()

    def test_finds_what_is_wrong(self):
        for case, got in (('reply-short-27', 'UNSOUND'), ('reply-credits-0', 'UNSOUND'),
                          ('reply-xid-unknown', 'UNSOUND'), ('reply-read-list', 'UNSOUND'),
                          ('reply-err-chunk', 'ERR_CHUNK'), ('reply-denied', 'RPC error')):
            with self.subTest(case=case):
                done = self.attack_itself(case)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn('FAILED  null', done.stdout)
                self.assertIn(got, done.stdout)

    def test_finds_a_requester_that_crashes_or_stays(self):
        for command, says in (('kill -SEGV $$', 'status 139'), ('exit 99', 'status 99'),
                              ('exit 1', 'no connection')):
            done = run('--timeout', '2000', '--listen', self.addr, '--case', 'reply', '--run',
                       command)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(says, done.stdout)


class Usage(unittest.TestCase):
    def test_mistakes(self):
        for args in ([], ['--connect', 'a', '--listen', 'b'], ['--connect', 'a', '--run', 'true'],
                     ['--connect', 'a', '--protocol', 'v3'],
                     ['--connect', 'a', '--program', 'none'],
                     ['--connect', 'a', '--program', 'nfs'], ['--connect', 'a', '--handle', '123'],
                     ['--connect', 'a', '--case', 'none'], ['--connect', 'a', '--count', '-1'],
                     ['--connect', 'a', 'stray'], ['--no-such']):
            with self.subTest(args=args):
                self.assertEqual(run(*args).returncode, 2)
        self.assertEqual(run('--timeout', '200', '--connect', unique('nobody')).returncode, 3)
        self.assertEqual(run('--driver', 'none', '--connect', 'a').returncode, 3)
        self.assertIn('--count', run('--help').stdout)

    def test_the_table(self):
        def made(name, side, case, got, ok):
            with open(name, 'w', encoding='utf-8') as file:
                json.dump({'label': name, 'side': side, 'cases': [
                    {'name': case, 'got': got, 'detail': 'why', 'allowed': 'reply', 'ok': ok}]},
                          file)

        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name) for name in ('one', 'other', 'third')]
            made(names[0], 'responder', 'short-27', 'dropped', True)
            made(names[1], 'responder', 'short-27', 'closed', False)
            made(names[2], 'responder', 'short-27', 'DEAD', False)
            table = run('--table', *names).stdout
        self.assertIn('     - dropped (why)\n     - **closed** (why)\n     - **stopped '
                      'answering**\n', table)

    def test_files_that_can_not_be(self):
        """Tests file errors. They say nothing about the other side, so that the status must not be
        1."""
        def refuses(says, *args, out=subprocess.PIPE):
            done = subprocess.run([HOSTILE, *args], stdout=out, stderr=subprocess.PIPE, text=True,
                                  timeout=60, env=ENV)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertFalse(done.stdout)

        good = {'label': 'one', 'side': 'responder',
                'cases': [{'name': 'null', 'got': 'reply', 'detail': '', 'ok': True}]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'results')

            def write(what):
                with open(path, 'w', encoding='utf-8') as file:
                    json.dump(what, file)

            refuses('--table takes 1 to 12 files', '--table')
            refuses('--table takes 1 to 12 files', '--table', *[path] * 13)
            refuses('/no/such', '--table', '/no/such')
            refuses(folder, '--table', folder)
            for wrong in ([], {}, {'label': 'one'}, {**good, 'label': 1}, {**good, 'side': None},
                          {**good, 'cases': {}},
                          {**good, 'cases': [{'name': 'null', 'got': 'reply'}]},
                          {**good, 'cases': ['null']}):
                write(wrong)
                refuses(f'{path}: no results', '--table', path)
            # If the results could not be stored, weir-hostile must attack nobody.
            refuses("can't write '/no/such", '--connect', unique('nobody'), '--json',
                    '/no/such/results')
            refuses(f"can't write '{folder}'", '--connect', unique('nobody'), '--json', folder)
            write(good)
            refuses('/no/such', '--table', path, '/no/such')
            with open('/dev/full', 'w', encoding='utf-8') as full:
                refuses("can't write the table", '--table', path, out=full)


if __name__ == '__main__':
    unittest.main(verbosity=1)
