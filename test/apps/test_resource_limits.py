#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests programs under resource limits. No program is ended by a signal. Each says which limit it
reached and how to raise it. Arguments: weir-bench, weir-nfs, weir-nfsd, and whether the limit of
address space can be tested."""
import os
import resource
import subprocess
import sys
import tempfile
import unittest

from nfs_tools import Client, Server, unique

BENCH, CLIENT, SERVER = map(os.path.abspath, sys.argv[1:4])
HAS_AS = sys.argv[4] == 'true'
del sys.argv[1:5]
CALLS = [BENCH, '--lcores', 'any', '--quiet', '--calls', '100', '--json', '-']
START = 1
CAP_IPC_LOCK = 14
PR_CAPBSET_DROP = 24


def limiter(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, timeout=120, check=False, **options)


class Process(unittest.TestCase):
    def refused_until_it_works(self, command, which, values, name, remedy):
        """Tries each value from the smallest to the first that is sufficient. The error for each
        smaller value must name the value."""
        refused = 0
        for value in values:
            with self.subTest(command=command, value=value):
                done = run(command, preexec_fn=limiter(which, value))
                if done.returncode == 0:
                    break
                refused += 1
                self.assertEqual((done.returncode, done.stdout), (START, ''), done.stderr)
                self.assertIn(name, done.stderr)
                self.assertIn(remedy, done.stderr)
        else:
            self.fail('no value was enough')
        self.assertGreater(refused, 1)

    @unittest.skipUnless(HAS_AS,
                         'an instrumented program reserves address space that no limit leaves')
    def test_address_space(self):
        for side in ([], ['--threads']):
            self.refused_until_it_works([*CALLS, *side], resource.RLIMIT_AS,
                                        range(50 << 20, 4000 << 20, 50 << 20), '(RLIMIT_AS)',
                                        'ulimit -v unlimited')

    def test_descriptors(self):
        for side in ([], ['--threads']):
            self.refused_until_it_works([*CALLS, *side], resource.RLIMIT_NOFILE,
                                        [*range(5, 17), 256], '(RLIMIT_NOFILE)', 'ulimit -n')

    def test_memory_that_is_locked(self):
        """Checks that shm locks no memory. An ordinary user is not allowed to lock any, and shm
        needs no permission for that."""
        def become_nobody():
            limiter(resource.RLIMIT_MEMLOCK, 0)()
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)

        done = run(CALLS, preexec_fn=become_nobody)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_size_of_files(self):
        """Checks the limit on file sizes, because shared memory is in files as well."""
        for side in ([], ['--threads']):
            for size in (0, 1500, 100000):
                with self.subTest(side=side, size=size):
                    done = run([*CALLS, *side], preexec_fn=limiter(resource.RLIMIT_FSIZE, size))
                    self.assertEqual((done.returncode, done.stdout), (START, ''), done.stderr)
                    self.assertIn('RLIMIT_FSIZE', done.stderr)


class Nfsd(unittest.TestCase):
    def serve(self, *args, **options):
        return Server(SERVER, '--driver', 'shm', '--no-mount', '--no-rpcbind', '--foreground',
                      *args, ready='export /a handle ', **options)

    def refused(self, *args, **options):
        return run([SERVER, '--driver', 'shm', '--listen', unique('limit'), '--no-mount',
                    '--no-rpcbind', '--foreground', *args], **options)

    @unittest.skipUnless(HAS_AS,
                         'an instrumented program reserves address space that no limit leaves')
    def test_address_space(self):
        for value in range(100 << 20, 4000 << 20, 50 << 20):
            with tempfile.TemporaryFile('w+') as said:
                try:
                    server = self.serve('--listen', unique('as'), '--export', 'a=ram:64m',
                                        preexec_fn=limiter(resource.RLIMIT_AS, value), stderr=said)
                except RuntimeError: # the server did not start
                    said.seek(0)
                    self.assertIn('(RLIMIT_AS)', said.read())
                    continue
            server.stop()
            return
        self.fail('no value was enough')

    @unittest.skipUnless(HAS_AS,
                         'an instrumented program reserves address space that no limit leaves')
    def test_connections_that_do_not_fit_are_refused(self):
        """Checks a server that can map no more memory. It refuses connections, says why, and
        continues to serve existing clients."""
        addr = unique('full')
        with tempfile.TemporaryFile('w+') as said:
            server = self.serve('--listen', addr, '--export', 'a=ram:4m',
                                preexec_fn=limiter(resource.RLIMIT_AS, 700 << 20), stderr=said)
            self.addCleanup(server.kill)
            client = Client(CLIENT, '--driver', 'shm', '--server', addr,
                            handle=server.line.split()[-1])
            holders = []
            for _ in range(64):
                holders.append(subprocess.Popen([*client.command, 'bench', '--file',
                                                 f'f{len(holders)}', '--size', '64k', '--time',
                                                 '600', '--block', '4k', '--depth', '1'],
                                                env=client.env, stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL,
                                                stdin=subprocess.DEVNULL))
                done = client.run('ls', timeout=100)
                if done.returncode != 0:
                    break
            said.seek(0)
            text = said.read()
            for holder in holders:
                holder.kill()
                holder.wait()
            if done.returncode != 0:
                self.assertIn('refused', text)
                self.assertIn('(RLIMIT_AS)', text)
            client.ok(self, 'ls', timeout=100)
            server.stop()

    @unittest.skipUnless(os.geteuid() == 0, 'dir is for root')
    def test_memory_that_is_locked(self):
        import ctypes # pylint: disable=import-outside-toplevel

        def limit():
            limiter(resource.RLIMIT_MEMLOCK, 65536)()
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)

        with tempfile.TemporaryDirectory() as folder:
            done = self.refused('--export', f'a=dir:{folder}', '--state', folder, preexec_fn=limit)
        self.assertEqual(done.returncode, START, done.stderr)
        for what in ('RLIMIT_MEMLOCK', 'ulimit -l unlimited', 'CAP_IPC_LOCK'):
            self.assertIn(what, done.stderr)

    def test_a_log_that_is_full_changes_nothing(self):
        addr = unique('log')
        with open('/dev/full', 'w', encoding='ascii') as full:
            server = self.serve('--listen', addr, '--export', 'a=ram:4m', stderr=full)
        self.addCleanup(server.kill)
        client = Client(CLIENT, '--driver', 'shm', '--server', addr, handle=server.line.split()[-1])
        client.ok(self, 'put', '-', 'file', data=b'text')
        self.assertEqual(client.ok(self, 'cat', 'file'), b'text')
        server.stop()


@unittest.skipUnless(os.geteuid() == 0, 'mounts a file system of its own')
class FullDisk(unittest.TestCase):
    """weir-nfsd exports a small tmpfs, in a mount namespace of its own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.disk = os.path.join(self.folder.name, 'disk')
        state = os.path.join(self.folder.name, 'state')
        for path in (self.disk, state):
            os.mkdir(path)
        addr = unique('disk')
        command = [SERVER, '--driver', 'shm', '--listen', addr, '--export', f'a=dir:{self.disk}',
                   '--state', state, '--foreground', '--no-mount', '--no-rpcbind']
        try:
            self.server = Server('unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o size=1m,mode=777 '
                                 f'none {self.disk} && exec "$0" "$@"', *command,
                                 ready='export /a handle ')
        except RuntimeError as error:
            self.skipTest(f'no tmpfs can be mounted here: {error}')
        self.addCleanup(self.server.kill)
        self.client = Client(CLIENT, '--driver', 'shm', '--server', addr, '--uid', '1000', '--gid',
                             '1000', handle=self.server.line.split()[-1])

    def test_it_is_answered_nospc_and_nothing_is_lost(self):
        kept = os.urandom(300000)
        self.client.ok(self, 'put', '-', 'kept', data=kept)
        for sync in ([], ['--sync']):
            for _ in range(3):
                self.client.fails(self, 1, 'no space left', 'put', *sync, '-', 'large',
                                  data=bytes(2 << 20))
                self.assertEqual(self.client.ok(self, 'cat', 'kept'), kept)
            self.client.ok(self, 'rm', 'large')
            # The space is free again.
            self.client.ok(self, 'put', *sync, '-', 'again', data=kept)
            self.assertEqual(self.client.ok(self, 'cat', 'again'), kept)
            self.client.ok(self, 'rm', 'again')
        self.server.stop()


if __name__ == '__main__':
    unittest.main(verbosity=1)
