#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-nfs with weir-nfsd, in memory, over shm: each command, sizes near boundaries, trees,
and a server that dies."""
import hashlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from nfs_tools import LOCAL, NFS, TRANSPORT, Client, Server, unique
from versions import needs_version2

CLIENT, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
SIZES = (0, 1, 4095, 4096, 4097, (1 << 20) + 1, 8 << 20)


def data_of(size, seed=1):
    return random.Random(seed * 1000003 + size).randbytes(size)


def tree_of(root):
    """Returns the paths below 'root', and the content of each."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, root)
            if os.path.islink(path):
                found[key] = 'link ' + os.readlink(path)
            elif os.path.isdir(path):
                found[key] = 'directory'
            else:
                with open(path, 'rb') as file:
                    found[key] = hashlib.sha256(file.read()).hexdigest()
    return found


class Served(unittest.TestCase):
    PROTOCOLS = None # protocols of client and server; None: the default of the profile
    SLEEPS = True # a server that polls would slow down what runs next to it
    EXTENSION = os.environ.get('WEIR_TEST_EXTENSION', 'off')

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addr = unique('nfs')
        self.start()

    def start(self):
        command = [SERVER, '--driver', 'shm', '--listen', self.addr, '--export', '/ram=ram:64m',
                   '--foreground', '--no-rpcbind', '--no-mount', *self.profile(1)]
        self.server = Server(*command, ready='export /ram handle ')
        self.addCleanup(self.server.stop)
        self.client = Client(CLIENT, '--server', self.addr, *self.profile(0),
                             handle=self.server.line.split()[-1])

    def profile(self, side):
        if not self.SLEEPS:
            return []
        path = self.path(f'profile-{side}.ini')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('[engine]\nidle = sleep\n')
            if self.PROTOCOLS:
                file.write(f'[connection]\nprotocol = {self.PROTOCOLS[side]}\nextension = '
                           f'{self.EXTENSION}\n')
        return ['--profile', path]

    def ok(self, *args, **kwargs):
        return self.client.ok(self, *args, cwd=self.folder, **kwargs)

    def fails(self, status, text, *args):
        return self.client.fails(self, status, text, *args, cwd=self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'wb') as file:
            file.write(data)

    def read(self, name):
        with open(self.path(name), 'rb') as file:
            return file.read()


class Files(Served):
    def test_sizes_there_and_back(self):
        for size in SIZES:
            with self.subTest(size=size):
                self.write('file', data_of(size))
                self.ok('put', 'file', 'remote')
                self.ok('get', 'remote', 'back')
                self.assertEqual(self.read('back'), data_of(size))
                self.assertEqual(self.ok('cat', 'remote'), data_of(size))

    def test_blocks_and_depths(self):
        data = data_of(300001)
        self.write('file', data)
        for depth, block in ((1, 4096), (3, 1), (1, 1 << 20), (64, 10007), (1024, 512)):
            options = ('--depth', str(depth), '--block', str(block))
            if block == 1:
                self.write('file', data[:300])
            with self.subTest(depth=depth, block=block):
                self.ok('put', *options, 'file', 'remote')
                self.ok('get', *options, 'remote', 'back')
                self.assertEqual(self.read('back'), self.read('file'))
            self.write('file', data)

    def test_pipes_and_sync(self):
        for size in SIZES[:-1]:
            with self.subTest(size=size):
                self.ok('put', '-', 'piped', data=data_of(size))
                self.assertEqual(self.ok('get', 'piped', '-'), data_of(size))
                self.write('file', data_of(size, 2))
                self.ok('put', '--sync', 'file', 'synced')
                self.assertEqual(self.ok('cat', 'synced', 'piped'),
                                 data_of(size, 2) + data_of(size))

    def test_targets(self):
        self.write('in/file', b'content')
        self.ok('mkdir', 'folder')
        self.ok('put', 'in/file')
        self.ok('put', 'in/file', 'folder')
        self.ok('put', 'in/file', 'folder/other')
        self.assertEqual(self.ok('ls'), b'file\nfolder\n')
        self.assertEqual(self.ok('ls', 'folder'), b'file\nother\n')
        self.ok('get', 'folder/other')
        self.ok('get', 'folder/other', 'in')
        self.assertEqual((self.read('other'), self.read('in/other')), (b'content', b'content'))
        self.fails(NFS, 'directory', 'get', 'folder')
        self.fails(LOCAL, 'directory', 'put', 'in')
        self.fails(NFS, '', 'put', 'in/file', 'no/such')
        self.fails(LOCAL, 'No such file', 'put', 'missing')
        self.fails(NFS, 'no such file', 'get', 'missing')
        self.fails(LOCAL, 'No such file', 'get', 'file', 'no/such')
        self.fails(NFS, 'directory: add', 'put', '-', 'folder')

    def test_modes_travel(self):
        self.write('file', b'x')
        os.chmod(self.path('file'), 0o751)
        self.ok('put', 'file')
        self.assertIn(b'mode    0751', self.ok('stat', 'file'))
        self.ok('get', 'file', 'back')
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(stat.S_IMODE(os.stat(self.path('back')).st_mode), 0o751 & ~mask)

    def test_nothing_is_written_through_a_link(self):
        self.write('file', b'new')
        self.write('precious', b'old')
        os.symlink('precious', self.path('link'))
        self.ok('put', 'file')
        self.ok('get', 'file', 'link')
        self.assertEqual((self.read('precious'), self.read('link')), (b'old', b'new'))
        self.assertFalse(os.path.islink(self.path('link')))


class Trees(Served):
    def make_tree(self):
        for i, size in enumerate(SIZES):
            self.write(f'tree/size-{size}', data_of(size, i))
        for i in range(60):
            self.write(f'tree/many/{i}', data_of(i * 37))
        self.write('tree/a/b/c/with blanks and \u00e9', b'deep')
        self.write('tree/' + 'n' * 255, b'long')
        os.mkdir(self.path('tree/empty'))
        os.symlink('../size-1', self.path('tree/a/link'))
        os.symlink('x' * 4000, self.path('tree/a/long-link'))
        return tree_of(self.path('tree'))

    def test_there_and_back(self):
        tree = self.make_tree()
        self.ok('put', '-r', 'tree', 'copy')
        self.ok('get', '-r', 'copy', 'back')
        self.assertEqual(tree_of(self.path('back')), tree)
        # The tree is stored again, with other sizes.
        self.write('tree/many/3', b'shorter')
        os.unlink(self.path('tree/a/link'))
        os.symlink('elsewhere', self.path('tree/a/link'))
        self.ok('put', '-r', 'tree/', 'copy')
        self.ok('get', '-r', '--depth', '3', '--block', '9999', 'copy/', 'back')
        self.ok('get', '-r', '/', 'all')
        tree = tree_of(self.path('tree'))
        self.assertEqual(tree_of(self.path('all/copy')), tree)
        self.ok('rm', '-r', 'copy')
        self.assertEqual(self.ok('ls'), b'')

    def test_no_way_out_through_a_link_of_an_earlier_copy(self):
        self.write('file', b'of the server')
        for name in ('home', 'here', 'there'):
            os.mkdir(self.path(name))
        here = self.path('here')
        self.ok('ln', '-s', self.path('home'), 'data')
        self.client.ok(self, 'get', '-r', 'data', cwd=here)
        self.assertTrue(os.path.islink(self.path('here/data')))
        self.ok('rm', 'data')
        self.ok('mkdir', 'data')
        self.ok('put', 'file', 'data/.profile')
        for local in ((), ('.',), (here,), (here + '/',)):
            with self.subTest(local=local):
                self.client.fails(self, LOCAL, 'symbolic link', 'get', '-r', 'data', *local,
                                  cwd=here)
                self.client.fails(self, LOCAL, 'symbolic link', 'get', '-r', '/', *local, cwd=here)
                self.assertEqual(os.listdir(self.path('home')), [])
        # The user may name a link to a directory.
        os.symlink('there', self.path('link'))
        self.ok('get', '-r', 'data', 'link')
        self.assertEqual(self.read('there/data/.profile'), b'of the server')
        self.ok('put', 'file')
        self.ok('get', '-r', '/', 'link')
        self.assertEqual(self.read('there/file'), b'of the server')
        self.assertEqual(os.listdir(self.path('home')), [])

    def test_a_big_directory(self):
        os.mkdir(self.path('big'))
        names = sorted(f'entry-{i:05d}-of-a-big-directory' for i in range(3000))
        for name in names:
            self.write('big/' + name, b'')
        self.ok('put', '-r', 'big')
        self.assertEqual(self.ok('ls', 'big').decode().split(), names)
        self.assertEqual(sorted(self.ok('ls', '-U', 'big').decode().split()), names)
        self.assertEqual(len(self.ok('ls', '-l', 'big').splitlines()), 3000)


@needs_version2
class FilesByVersion2(Files):
    PROTOCOLS = ('v2', 'v2')


@needs_version2
class TreesByVersion2(Trees):
    PROTOCOLS = ('auto', 'v2')


@needs_version2
class TreesByEither(Trees):
    PROTOCOLS = ('auto', 'v1')


@needs_version2
class VersionsThatDiffer(Served):
    PROTOCOLS = ('v1', 'v2')

    def test_are_named(self):
        done = self.client.fails(self, TRANSPORT, 'does not support the version of RPC-over-RDMA',
                                 'ls', cwd=self.folder)
        said = done.stderr.decode()
        self.assertIn('speaks versions 2 to 2 of RPC-over-RDMA, and was called by version 1', said)
        self.assertIn('set protocol to auto', said)


class Names(Served):
    def test_directories(self):
        self.ok('mkdir', 'a', 'b')
        self.ok('mkdir', '-p', 'a/b/c/d', 'a/b')
        self.fails(NFS, 'exists', 'mkdir', 'a')
        self.fails(NFS, 'no such', 'mkdir', 'x/y')
        self.fails(NFS, 'not empty', 'rmdir', 'a')
        self.ok('rmdir', 'a/b/c/d', 'b')
        self.assertEqual(self.ok('ls', 'a/../a/./b//'), b'c\n')
        self.fails(NFS, 'root', 'rmdir', '/')
        self.fails(NFS, '', 'rm', 'a')

    def test_rename_and_link(self):
        self.write('file', b'content')
        self.ok('put', 'file', 'one')
        self.ok('mkdir', 'folder')
        self.ok('mv', 'one', 'two')
        self.ok('mv', 'two', 'folder')
        self.ok('ln', 'folder/two', 'three')
        self.assertIn(b'links   2', self.ok('stat', 'three'))
        self.ok('ln', '-s', 'folder/two', 'soft')
        self.assertEqual(self.ok('readlink', 'soft'), b'folder/two\n')
        self.assertEqual(self.ok('cat', '-L', 'soft'), b'content')
        self.fails(NFS, 'not a regular', 'cat', 'soft')
        self.fails(NFS, '', 'readlink', 'three')
        self.assertIn(b'soft -> folder/two', self.ok('ls', '-l'))
        self.ok('rm', 'folder/two', 'soft')
        self.fails(NFS, 'no such', 'mv', 'folder/two', 'x')
        self.assertEqual(self.ok('cat', 'three'), b'content')

    def test_links_of_every_length(self):
        for length in (1, 255, 900, 1100, 3000, 4096 - 1):
            with self.subTest(length=length):
                self.ok('ln', '-s', 't' * length, 'link')
                self.assertEqual(self.ok('readlink', 'link'), b't' * length + b'\n')
                self.ok('rm', 'link')

    def test_names_of_every_length(self):
        self.write('file', b'x')
        self.ok('put', 'file', 'n' * 255)
        self.assertEqual(self.ok('ls'), b'n' * 255 + b'\n')
        self.fails(NFS, 'too long', 'put', 'file', 'n' * 256)

    def test_attributes(self):
        self.write('file', b'x' * 5000)
        self.ok('put', 'file')
        self.ok('truncate', '3k', 'file')
        self.ok('chmod', '4711', 'file')  # a change of the content would clear the set-user-ID bit
        said = self.ok('stat', 'file').decode()
        self.assertIn('size    3072', said)
        self.assertIn('mode    4711 -rws--x--x', said)
        self.assertEqual(self.ok('cat', 'file'), b'x' * 3072)
        self.ok('truncate', '4000', 'file')
        self.assertEqual(self.ok('cat', 'file'), b'x' * 3072 + bytes(928))
        self.assertIn(b'bytes', self.ok('df'))
        self.assertIn(b'10 answers', self.ok('ping', '10'))

    def test_who_we_are(self):
        self.write('file', b'x')
        self.ok('mkdir', 'open')
        self.ok('chmod', '777', 'open')
        self.ok('--uid', '1234', '--gid', '5678', 'put', 'file', 'open')
        self.assertRegex(self.ok('stat', 'open/file'), rb'uid +1234\ngid +5678\n')
        self.ok('chmod', '700', 'open')
        self.fails(NFS, 'ermission', '--uid', '1234', '--gid', '5678', 'ls', 'open')


class Bench(Served):
    def test_json_and_verify(self):
        # READs of weir-nfsd end at each MiB of the file. In the last but one, blocks cross such a
        # boundary. In the last one, blocks are longer than one READ or WRITE may be.
        for options in ((), ('--ratio', '50'), ('--ratio', '0', '--sync', '--sequential'),
                        ('--block', '64k'), ('--size', '3m', '--block', '100007', '--sequential'),
                        ('--size', '5m', '--block', '2500007', '--depth', '2', '--ratio', '50')):
            with self.subTest(options=options):
                said = self.ok('bench', '--size', '1m', '--time', '0.3', '--warmup', '0.1',
                               '--verify', '--json', '-', *options)
                result = json.loads(said)
                self.assertEqual((result['errors'], result['verify_failures']), (0, 0))
                self.assertGreater(result['calls'], 0)
                for name in ('bulk_copies', 'allocations', 'registrations'):
                    self.assertEqual(result['counters'][name], 0, name)
        self.assertEqual(self.ok('ls'), b'')
        self.assertIn(b'reads', self.ok('bench', '--size', '64k', '--time', '0.1', '--keep',
                                        '--file', 'kept'))
        self.assertEqual(self.ok('ls'), b'kept\n')


class Death(Served):
    SLEEPS = False # the test checks the content of the folder, and when each side notices it

    def begin(self, *args):
        process = subprocess.Popen([*self.client.command, *args], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, env=self.client.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def begin_get(self, *options):
        """Begins a get that takes long. Returns when it has begun."""
        self.write('file', data_of(2 << 20))
        self.ok('put', 'file')
        os.unlink(self.path('file'))
        process = self.begin('get', *options, '--block', '1', '--depth', '1', 'file')
        for _ in range(1000):
            if any(os.path.getsize(self.path(name)) > 0 for name in os.listdir(self.folder)):
                return process
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        self.fail('get did not begin')

    def end(self, process, status):
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, said)
        self.assertEqual(os.listdir(self.folder), [])
        return said

    def test_the_server_is_killed(self):
        process = self.begin_get('--retries', '1')
        self.server.kill()
        said = self.end(process, TRANSPORT)
        self.assertIn('reconnecting', said)

    def test_another_server_comes(self):
        process = self.begin_get('--retries', '30')
        self.server.kill()
        self.start()
        # The server has no such file, so that its answer to the handle ends the command.
        self.assertIn('get file', self.end(process, NFS))

    def test_bench_is_carried_over_a_server_that_is_killed_and_started(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        exported, state = (os.path.join(folder.name, name) for name in ('exported', 'state'))
        os.mkdir(exported)
        os.chmod(exported, 0o777) # the client's root is nobody here
        self.server.stop()
        command = [SERVER, '--driver', 'shm', '--listen', self.addr, '--export',
                   f'/dir=dir:{exported}', '--state', state, '--foreground', '--no-rpcbind',
                   '--no-mount']
        server = Server(*command, ready='export /dir handle ')
        alone = len(os.listdir(f'/proc/{server.process.pid}/fd'))
        client = Client(CLIENT, '--server', self.addr, '--retries', '100',
                        handle=server.line.split()[-1])
        process = subprocess.Popen([*client.command, 'bench', '--size', '1m', '--ratio', '50',
                                    '--depth', '8', '--time', '3', '--verify', '--json', '-'],
                                   stdin=subprocess.DEVNULL, env=client.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while process.poll() is None and not os.listdir(exported):
            time.sleep(0.01)
        for _ in range(3):
            server.kill()
            server = Server(*command, ready='export /dir handle ')
            while (process.poll() is None and
                   len(os.listdir(f'/proc/{server.process.pid}/fd')) <= alone):
                time.sleep(0.01) # until the client has connected again
        self.addCleanup(server.stop)
        out, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, said)
        result = json.loads(out)
        self.assertEqual((result['errors'], result['verify_failures']), (0, 0))
        self.assertGreater(result['reconnections'], 0)
        self.assertEqual(os.listdir(exported), [])

    def test_interrupted(self):
        for signo in (signal.SIGINT, signal.SIGTERM):
            process = self.begin_get()
            process.send_signal(signo)
            self.end(process, -signo)


if __name__ == '__main__':
    unittest.main(verbosity=1)
