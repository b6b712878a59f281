#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what weir-nfsd reports to a service manager, by a socket in its place: the start, reloads,
the end, and that the thread of each engine works. Also tests signals, and MOUNT after a reload."""
import ctypes
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from nfs_tools import Server, unique
from rpc_tools import Daemon, Reader, opaque, word

SERVER, = map(os.path.abspath, sys.argv[1:2])
del sys.argv[1:2]
HUNG = 4
MOUNT, MNT, EXPORT = 100005, 1, 5
MNT_OK, MNT_NOENT = 0, 2
SET = 1
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000 # __WALL, to wait for any thread
PR_SET_CHILD_SUBREAPER = 36
SILENCE = 1.0 # seconds; a server that works is heard of many times in this time
WATCHDOG_US = 200000
PATH_MAX = 4096
# If the tests run under nohup, programs would inherit that this signal is ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def ptrace(request, thread):
    if LIBC.ptrace(request, thread, None, None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def engine_threads(pid):
    """The threads that poll an engine, by their names."""
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/comm', encoding='ascii') as file:
            if re.fullmatch(r'weir-nfsd-\d+', file.read().strip()):
                yield int(task)


def end_of(server):
    """Ends a server that has perhaps not ended yet."""
    server.process.kill()
    server.process.wait()
    server.process.stdout.close()


class Managed(unittest.TestCase):
    """A server, and the socket of its service manager."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.exports = os.path.join(self.folder, 'exports.ini')
        self.write('[/a]\nbackend = ram:4m\n[/b]\nbackend = ram:4m\n')
        self.said = os.path.join(self.folder, 'said')
        self.address = os.path.join(self.folder, 'notify')
        self.manager = self.listen(self.address)

    def listen(self, address):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(address)
        manager.settimeout(60)
        return manager

    def write(self, text):
        with open(self.exports, 'w', encoding='ascii') as file:
            file.write(text)

    def start(self, *options, env=None, **more):
        with open(self.said, 'wb') as stderr:
            server = Server(SERVER, '--driver', 'shm', '--listen', unique('service'), '--exports',
                            self.exports, '--foreground', *options, ready='export /a handle ',
                            stderr=stderr, env={**os.environ, 'NOTIFY_SOCKET': self.address,
                                                **(env or {})}, **more)
        self.addCleanup(end_of, server)
        return server

    def messages(self):
        with open(self.said, encoding='utf-8') as file:
            return file.read()

    def told(self):
        """The next message, as a dictionary, that is more than a sign of life."""
        while True:
            lines = self.manager.recv(4096).decode().split('\n')
            message = dict(line.split('=', 1) for line in lines)
            if message != {'WATCHDOG': '1'}:
                return message

    def reload(self, server):
        """Returns the status after a reload."""
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        server.process.send_signal(signal.SIGHUP)
        begin = self.told()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.assertEqual(begin['RELOADING'], '1')
        # systemd compares this time with that of its signal.
        self.assertTrue(before <= int(begin['MONOTONIC_USEC']) <= after, begin)
        end = self.told()
        self.assertEqual(end['READY'], '1')
        return end['STATUS']

    def end(self, server):
        server.process.terminate()
        end = self.told()
        self.assertEqual(end.pop('STOPPING'), '1')
        self.assertIn('Waiting', end['STATUS'])
        self.assertEqual(server.process.wait(timeout=60), 0)


class Life(Managed):
    def lives(self, server, address):
        ready = self.told()
        self.assertEqual(ready.pop('READY'), '1')
        self.assertRegex(ready.pop('STATUS'), r'^Serving 2 exports on weir-test\S+ \(shm\)$')
        self.assertEqual(ready, {}, address)
        self.assertRegex(self.reload(server), r'^Serving 2 exports on \S+ \(shm\)$')
        self.end(server)

    def test_start_reload_and_end_are_told(self):
        self.lives(self.start(), self.address)

    def test_the_socket_can_be_abstract(self):
        name = unique('notify')
        self.manager = self.listen('\0' + name)
        self.lives(self.start(env={'NOTIFY_SOCKET': '@' + name}), name)

    def test_nobody_is_told_by_a_start_that_fails(self):
        with self.assertRaises(RuntimeError):
            self.start('--mount-port', '70000')
        self.write('[/a]\nbackend = ram:1024g\n[/b]\nbackend = ram:1024g\n')
        with self.assertRaises(RuntimeError):
            self.start()
        self.manager.setblocking(False)
        self.assertRaises(BlockingIOError, self.manager.recv, 1)

    def test_a_socket_of_another_kind_is_named(self):
        with self.assertRaises(RuntimeError):
            self.start(env={'NOTIFY_SOCKET': 'vsock:2:1'})
        self.assertIn("can't report to the service manager", self.messages())
        self.assertIn("NOTIFY_SOCKET 'vsock:2:1'", self.messages())

    def test_a_socket_that_is_gone_does_not_matter(self):
        self.start(env={'NOTIFY_SOCKET': self.address + '-gone'}).stop()

    def test_nothing_is_told_in_the_background(self):
        """The service manager would not accept a message of the child."""
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        path = os.path.join(self.folder, 'socket')
        subprocess.run([SERVER, '--driver', 'shm', '--listen', path, '--exports', self.exports],
                       env={**os.environ, 'NOTIFY_SOCKET': self.address}, timeout=60, check=True,
                       stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        pid, = (int(pid) for pid in filter(str.isdigit, os.listdir('/proc'))
                if path.encode() in read(f'/proc/{pid}/cmdline').split(b'\0'))
        os.kill(pid, signal.SIGTERM)
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.manager.setblocking(False)
        self.assertRaises(BlockingIOError, self.manager.recv, 1)


def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except OSError:
        return b''


class Watchdog(Managed):
    def start_watched(self, *options, **env):
        server = self.start(*options, env={'WATCHDOG_USEC': str(WATCHDOG_US), **env})
        self.assertEqual(self.told()['READY'], '1')
        return server

    def hear(self):
        """Waits for a sign of life."""
        self.assertEqual(self.manager.recv(4096), b'WATCHDOG=1')

    def test_a_server_that_works_is_heard_of(self):
        for idle in ('yield', 'adaptive', 'event'):
            with self.subTest(idle=idle), tempfile.NamedTemporaryFile('w', suffix='.ini') as file:
                file.write(f'[engine]\nidle = {idle}\n')
                file.flush()
                server = self.start_watched('--profile', file.name)
                for _ in range(4):
                    self.hear()
                self.end(server)

    def test_a_server_that_is_not_watched_is_silent(self):
        for env in ({}, {'WATCHDOG_USEC': str(WATCHDOG_US), 'WATCHDOG_PID': '1'},
                    {'WATCHDOG_USEC': 'x'}):
            with self.subTest(env=env):
                server = self.start(env=env)
                self.assertEqual(self.told()['READY'], '1')
                self.manager.settimeout(SILENCE)
                self.assertRaises(TimeoutError, self.manager.recv, 4096)
                self.manager.settimeout(60)
                self.end(server)

    def test_a_thread_that_hangs_is_noticed(self):
        """One of two threads is stopped, as by a debugger. The main thread still reloads the
        exports, but says no more that the server works."""
        with tempfile.NamedTemporaryFile('w', suffix='.ini') as file:
            file.write('[engine]\nlcores = 0,1\nidle = event\n')
            file.flush()
            if not {0, 1} <= os.sched_getaffinity(0):
                self.skipTest('the CPUs 0 and 1 are needed')
            server = self.start_watched('--profile', file.name, '--sandbox', 'off')
        threads = list(engine_threads(server.process.pid))
        self.assertEqual(len(threads), 2)
        for thread in threads:
            self.hear()
            try:
                ptrace(PTRACE_SEIZE, thread)
            except PermissionError:
                self.skipTest('this machine does not let the test stop a thread')
            ptrace(PTRACE_INTERRUPT, thread)
            os.waitpid(thread, WALL)
            # A thread that is traced would have to be waited for, even if the server were killed.
            try:
                self.is_silent(server)
            finally:
                ptrace(PTRACE_DETACH, thread)
            self.hear()
        self.end(server)

    def is_silent(self, server):
        # Messages that were sent before the thread stopped are read, with at most one message that
        # was due because the thread had polled before it stopped.
        self.manager.settimeout(SILENCE)
        with self.assertRaises(TimeoutError):
            for _ in range(20):
                self.manager.recv(4096)
        self.manager.settimeout(60)
        server.process.send_signal(signal.SIGHUP)
        self.assertTrue(self.manager.recv(4096).startswith(b'RELOADING=1\n'))
        self.assertTrue(self.manager.recv(4096).startswith(b'READY=1\n'))


class Reload(Managed):
    def test_what_is_wrong_is_said(self):
        server = self.start()
        self.told()
        for text, said in (
                ('[/a]\nnonsense\n', f"{self.exports}:2: expected 'key = value'"),
                ('[/a]\nbackend = ram:4m\n[/c]\nbackend = ram:4m\n', 'export /c is new: restart'),
                ('[/a]\nbackend = ram:8m\n', 'export /a has another size: restart'),
                ('[/a]\nbackend = dir:/\n', 'export /a has another backend: restart'),
                ('# nothing\n', 'the files of --exports have no export')):
            with self.subTest(text=text):
                self.write(text)
                self.assertIn('The last reload failed', self.reload(server))
                self.assertIn(f'weir-nfsd: {said}', self.messages())
                self.assertIn('the exports stay as they were', self.messages())
        os.unlink(self.exports)
        self.assertIn('The last reload failed', self.reload(server))
        self.assertIn(f"can't read {self.exports}: No such file", self.messages())
        os.mkfifo(self.exports)
        self.assertIn('The last reload failed', self.reload(server))
        self.assertIn('not a regular file', self.messages())
        os.unlink(self.exports)
        self.write('[/a]\nbackend = ram:4m\n')
        self.assertRegex(self.reload(server), r'^Serving 1 export on \S+ \(shm\)$')
        self.assertIn('the exports were read again: 1 can be used', self.messages())
        self.end(server)

    def test_many_at_once_end_with_the_last_file(self):
        server = self.start()
        self.told()
        for _ in range(20):
            server.process.send_signal(signal.SIGHUP)
        self.write('[/b]\nbackend = ram:4m\n')
        server.process.send_signal(signal.SIGHUP)
        while 'Serving 1 export on' not in self.told()['STATUS']:
            pass

    def test_exports_of_the_command_line_stay(self):
        server = self.start('--export', 'c=ram:4m')
        self.assertIn('Serving 3 exports', self.told()['STATUS'])
        self.write('[/a]\nbackend = ram:4m\n')
        self.assertIn('Serving 2 exports', self.reload(server))
        self.end(server)

    def test_a_server_without_files_changes_nothing(self):
        server = Server(SERVER, '--driver', 'shm', '--listen', unique('files'), '--export',
                        'a=ram:4m', '--foreground', ready='export /a handle ',
                        env={**os.environ, 'NOTIFY_SOCKET': self.address})
        self.addCleanup(end_of, server)
        self.told()
        self.assertIn('Serving 1 export on', self.reload(server))
        self.end(server)

    def test_a_relative_path_is_one_of_the_first_directory(self):
        server = Server(SERVER, '--driver', 'shm', '--listen', unique('relative'), '--exports',
                        'exports.ini', '--foreground', ready='export /a handle ', cwd=self.folder,
                        env={**os.environ, 'NOTIFY_SOCKET': self.address})
        self.addCleanup(end_of, server)
        self.told()
        self.write('[/a]\nbackend = ram:4m\n')
        self.assertIn('Serving 1 export on', self.reload(server))
        self.end(server)

    def test_a_relative_path_is_not_one_of_the_root(self):
        """The path of the current directory is too long for getcwd(3)."""
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for _ in range(PATH_MAX // 200 + 1):
            os.mkdir('d' * 200)
            os.chdir('d' * 200)
        os.rename(self.exports, 'exports.ini')
        self.exports = 'exports.ini'
        server = self.start()
        self.told()
        self.assertIn('The last reload failed', self.reload(server))
        self.assertIn("can't read exports.ini again", self.messages())
        self.end(server)

    def test_nohup_is_respected(self):
        server = self.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.told()
        server.process.send_signal(signal.SIGHUP)
        self.end(server) # the next message is that of the end

    def test_mount_follows_on_an_open_connection(self):
        with socket.create_server(('127.0.0.1', 0)) as unused:
            port = unused.getsockname()[1]
        server = self.start('--mount-port', str(port), '--no-rpcbind')
        self.told()
        with socket.create_connection(('127.0.0.1', port), timeout=60) as conn:
            self.assertEqual(exports_of(conn), [b'/a', b'/b'])
            self.assertEqual(mount(conn, b'/b'), MNT_OK)
            self.write('[/a]\nbackend = ram:4m\n')
            self.reload(server)
            self.assertEqual(exports_of(conn), [b'/a'])
            self.assertEqual(mount(conn, b'/b'), MNT_NOENT)
            self.assertEqual(mount(conn, b'/a'), MNT_OK)
            self.write('[/a]\nbackend = ram:4m\n[/b]\nbackend = ram:4m\n')
            self.reload(server)
            self.assertEqual(mount(conn, b'/b'), MNT_OK)
        self.end(server)


def call(conn, proc, args=b''):
    body = word(7, 0, 2, MOUNT, 3, proc) + word(0, 0, 0, 0) + args
    conn.sendall(word(0x80000000 | len(body)) + body)
    head, = struct.unpack('>I', conn.recv(4, socket.MSG_WAITALL))
    reply = Reader(conn.recv(head & 0x7fffffff, socket.MSG_WAITALL))
    if [reply.word() for _ in range(6)] != [7, 1, 0, 0, 0, 0]:
        raise RuntimeError('the call was not accepted')
    return reply


def exports_of(conn):
    reply, names = call(conn, EXPORT), []
    while reply.word():
        names.append(reply.opaque())
        reply.word() # there are no groups
    return names


def mount(conn, path):
    return call(conn, MNT, opaque(path)).word()


class End(Managed):
    def ends_by(self, signo):
        """Returns the status of a server that gets a signal twice. rpcbind takes the server's
        entry, and does not answer when it is withdrawn. The server would wait three seconds. The
        second signal arrives meanwhile."""
        entries = []
        listener = socket.socket(socket.AF_UNIX)
        path = os.path.join(self.folder, 'rpcbind.sock')
        listener.bind(path)
        listener.listen()
        done, told = socket.socketpair()
        self.addCleanup(done.close)
        self.addCleanup(told.close)
        done.settimeout(60)

        def answer(_, __, proc, args):
            if proc == SET:
                entries.append((args.word(), args.word(), args.opaque(), args.opaque()))
                return word(1)
            if entries:
                told.send(b'x')
                return None
            return word(0)

        daemon = Daemon(answer, listener)
        self.addCleanup(daemon.close)
        server = self.start('--mount-port', '0', '--rpcbind', path)
        self.told()
        server.process.send_signal(signo)
        self.assertEqual(done.recv(1), b'x')
        self.assertEqual(self.told()['STOPPING'], '1')
        server.process.send_signal(signo)
        return server.process.wait(timeout=60)

    def test_a_second_signal_ends_at_once(self):
        self.assertEqual(self.ends_by(signal.SIGTERM), HUNG)
        self.assertIn('a second signal ends the server at once', self.messages())

    def test_the_kernel_may_repeat_sigxcpu(self):
        self.assertEqual(self.ends_by(signal.SIGXCPU), 0)


if __name__ == '__main__':
    unittest.main(verbosity=1)
