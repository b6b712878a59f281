#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the start of weir-nfsd: in the background, with accepted and refused names, and with a file
of exports."""
import ctypes
import errno
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

from nfs_tools import Server, unique

SERVER, = map(os.path.abspath, sys.argv[1:2])
del sys.argv[1:2]
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
KILL_PROCESS, ERRNO = 0x80000000, 0x00050000
SYS_LISTEN, SYS_IO_URING_SETUP = 50 if os.uname().machine == 'x86_64' else 201, 425
START, USAGE, LOST, HUNG = 1, 2, 3, 4
# If the tests run under nohup, programs would inherit that this signal is ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def processes_with(argument):
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                if argument.encode() in file.read().split(b'\0'):
                    yield int(pid)
        except OSError:
            pass


class Foreground(unittest.TestCase):
    def test_it_waits_for_no_reader_of_its_messages(self):
        """Standard error is a full pipe. The server must start, although it has a warning to write,
        and end."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, b'x' * 512)
        os.set_blocking(writer, True)
        server = subprocess.Popen([SERVER, '--driver', 'shm', '--listen', unique('unread'),
                                   '--foreground', '--export', 'a=ram:4m',
                                   '--driver-options', 'peer_uid=any'], stdout=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, stderr=writer)
        os.close(writer)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        ready, _, _ = select.select([server.stdout], [], [], 60)
        self.assertTrue(ready)
        self.assertIn(b'handle', server.stdout.readline())
        server.terminate()
        self.assertEqual(server.wait(timeout=60), 0)


class Background(unittest.TestCase):
    def test_it_holds_neither_the_terminal_nor_the_directory(self):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        addr = unique('background')
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'exports'), 'w', encoding='ascii') as file:
                file.write('[/a]\nbackend = ram:4m\n')
            # If a process held one of these pipes open, this call would not end.
            done = subprocess.run([SERVER, '--driver', 'shm', '--listen', addr, '--exports',
                                   'exports'], cwd=folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=60, check=True)
            self.assertIn(b'export /a handle ', done.stdout)
        pid, = processes_with(addr)
        try:
            self.assertEqual(os.readlink(f'/proc/{pid}/cwd'), '/')
            self.assertEqual({os.readlink(f'/proc/{pid}/fd/{fd}') for fd in range(3)},
                             {'/dev/null'})
        finally:
            os.kill(pid, signal.SIGTERM)
            _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_a_start_that_fails_is_told(self):
        with socket.create_server(('', 0)) as taken:
            port = str(taken.getsockname()[1])
            done = subprocess.run([SERVER, '--driver', 'shm', '--listen', unique('taken'),
                                   '--export', 'a=ram:4m', '--mount-port', port],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(done.returncode, START)
        self.assertIn(b"MOUNT can't listen", done.stderr)


    def test_a_start_that_ends_by_a_signal_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            # listen() ends the process, as the seccomp filter of a service can do. The child calls
            # it, and the parent does not.
            done = subprocess.run([SERVER, '--driver', 'shm', '--listen', unique('signal'),
                                   '--export', 'a=ram:4m', '--mount-port', '0'],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=60, check=False, cwd=folder,
                                  preexec_fn=lambda: filter_call(SYS_LISTEN, KILL_PROCESS))
        self.assertEqual(done.returncode, START, done.stderr)
        self.assertIn(f'ended by signal {int(signal.SIGSYS)} ', done.stderr.decode())
        self.assertIn('seccomp filter', done.stderr.decode())

    def test_a_start_that_is_killed_is_told(self):
        done = self.start_and_signal([signal.SIGKILL], to_parent=False)
        self.assertEqual(done.returncode, START)
        self.assertIn(f'ended by signal {int(signal.SIGKILL)} ', done.stderr)
        self.assertIn('lack of memory', done.stderr)

    def test_a_start_that_is_called_off_ends_in_order(self):
        done = self.start_and_signal([signal.SIGTERM], to_parent=True)
        self.assertEqual(done.returncode, START)
        self.assertIn('stopped by a signal before it was ready', done.stderr)

    def test_a_second_signal_ends_the_server_and_not_only_the_program_that_waits(self):
        # Two signals of one kind could become one.
        done = self.start_and_signal([signal.SIGINT, signal.SIGTERM], to_parent=True)
        self.assertEqual(done.returncode, HUNG, done.stderr)
        self.assertIn('a second signal ends the server at once', done.stderr)

    def start_and_signal(self, signals, to_parent):
        """Starts a server whose rpcbind accepts and never answers. Sends signals while the server
        waits for the answer."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        addr = unique('early')
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as silent:
            silent.bind(os.path.join(folder, 'rpcbind'))
            silent.listen()
            with subprocess.Popen([SERVER, '--driver', 'shm', '--listen', addr, '--export',
                                   'a=ram:4m', '--mount-port', '0', '--rpcbind',
                                   os.path.join(folder, 'rpcbind')], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  text=True) as parent:
                taken, _ = silent.accept() # the child is now waiting for the answer
                child, = (pid for pid in processes_with(addr) if pid != parent.pid)
                for signo in signals:
                    os.kill(parent.pid if to_parent else child, signo)
                _, parent.said = parent.communicate(timeout=60)
                taken.close()
                self.assertEqual([pid for pid in processes_with(addr) if pid != parent.pid], [])
                # The parent has waited for the server, which is therefore no child of this test.
                self.assertRaises(ChildProcessError, os.waitpid, child, os.WNOHANG)
                return subprocess.CompletedProcess([], parent.returncode, None, parent.said)

    def test_a_start_that_fails_without_descriptors_is_told_by_its_status(self):
        with socket.create_server(('', 0)) as taken:
            port = str(taken.getsockname()[1])
            for closed in ([1, 2], [0, 1, 2]):
                with self.subTest(closed=closed):
                    done = subprocess.run([SERVER, '--driver', 'shm', '--listen', unique('closed'),
                                           '--export', 'a=ram:4m', '--mount-port', port],
                                          timeout=60, check=False, stdin=subprocess.DEVNULL,
                                          # pylint: disable=cell-var-from-loop
                                          preexec_fn=lambda: [os.close(fd) for fd in closed])
                    self.assertEqual(done.returncode, START)


class Signals(unittest.TestCase):
    def ends_in_order(self, signo, **options):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'socket')
            server = Server(SERVER, '--driver', 'shm', '--listen', path, '--export', 'a=ram:4m',
                            '--foreground', ready='export /a handle ', **options)
            self.addCleanup(server.kill)
            self.assertTrue(os.path.exists(path))
            server.process.send_signal(signo)
            self.assertEqual(server.process.wait(timeout=20), 0)
            self.assertFalse(os.path.exists(path))

    def test_each_that_ends_the_server_ends_it_in_order(self):
        for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGXCPU):
            with self.subTest(signo=signo):
                self.ends_in_order(signo)

    def test_others_change_nothing(self):
        server = Server(SERVER, '--driver', 'shm', '--listen', unique('others'), '--export',
                        'a=ram:4m', '--foreground', ready='export /a handle ')
        self.addCleanup(server.kill)
        for signo in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGUSR1, signal.SIGUSR2):
            server.process.send_signal(signo)
        server.stop()


class Device(unittest.TestCase):
    def test_when_it_goes_the_server_ends(self):
        for lcores in ('any', '0,1'):
            with self.subTest(lcores=lcores), tempfile.NamedTemporaryFile('w',
                                                                          suffix='.ini') as profile:
                profile.write(f'[engine]\nlcores = {lcores}\nidle = yield\n')
                profile.flush()
                done = subprocess.run([SERVER, '--driver', 'fault', '--driver-options',
                                       'over=shm,kinds=unlistened,nth=200', '--profile',
                                       profile.name, '--listen', unique('lost'), '--export',
                                       'a=ram:4m', '--no-mount', '--foreground'],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL, timeout=60, check=False)
                self.assertEqual(done.returncode, LOST, done.stderr)
                self.assertIn(b'export /a handle', done.stdout)
                self.assertIn(b'the device was removed', done.stderr)


def filter_call(number, action):
    """Runs in a child before it executes a program: installs a seccomp filter for one system call,
    as containers do."""
    load, jump_equal, ret, allow = 0x20, 0x15, 0x06, 0x7fff0000
    program = b''.join(struct.pack('=HBBI', *instruction) for instruction in
                       [(load, 0, 0, 0), (jump_equal, 0, 1, number), (ret, 0, 0, action),
                        (ret, 0, 0, allow)])
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack('@HP', len(program) // 8,
                                                     ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0,
                  0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), 'seccomp')


@unittest.skipUnless(os.geteuid() == 0, 'dir is for root')
class IoUring(unittest.TestCase):
    def test_its_refusal_is_named(self):
        for error in (errno.EPERM, errno.ENOSYS):
            with self.subTest(error=error), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([SERVER, '--driver', 'shm', '--listen', unique('ring'),
                                       '--export', f'a=dir:{folder}', '--state', folder,
                                       '--foreground'], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60,
                                      check=False,
                                      # pylint: disable=cell-var-from-loop
                                      preexec_fn=lambda: filter_call(SYS_IO_URING_SETUP,
                                                                     ERRNO | error))
                self.assertEqual(done.returncode, START, done.stderr)
                said = done.stderr.decode()
                self.assertIn(f"can't serve {folder}: io_uring: {os.strerror(error)}", said)
                for what in ('kernel.io_uring_disabled', 'seccomp', 'ram'):
                    self.assertIn(what, said)


@unittest.skipUnless(os.geteuid() == 0, 'dir is for root')
class State(unittest.TestCase):
    def test_the_secret_is_a_regular_file(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(os.path.join(folder, 'secret'), 0o600) # nobody writes to it
            done = subprocess.run([SERVER, '--driver', 'shm', '--listen', unique('secret'),
                                   '--export', f'a=dir:{folder}', '--state', folder,
                                   '--foreground'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=60, check=False)
            self.assertEqual(done.returncode, START, done.stderr)
            self.assertIn('the secret that file handles are signed with, is not a regular file',
                          done.stderr.decode())


class Exports(unittest.TestCase):
    def refused(self, text, *options):
        done = subprocess.run([SERVER, '--driver', 'shm', '--listen', 'x', *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn(text, done.stderr.decode())

    def test_slashes_around_a_name_are_one_in_front(self):
        for name in ('a', '/a', 'a/', '/a/', '//a//'):
            with self.subTest(name=name):
                Server(SERVER, '--driver', 'shm', '--listen', unique('names'), '--export',
                       f'{name}=ram:4m', '--foreground', ready='export /a handle ').stop()
        self.refused('another export has this name', '--export', 'a=ram', '--export', '/a/=ram')
        self.refused('1 to 254', '--export', '//=ram')

    def test_a_name_can_be_asked_for(self):
        for name in ('/a /', '/\r/', 'a\nb', 'a\033[2J'):
            with self.subTest(name=name):
                self.refused('without control characters and without a blank', '--export',
                             f'{name}=ram')

    def test_a_key_goes_once(self):
        with tempfile.NamedTemporaryFile('w', suffix='.ini') as file:
            file.write('[/a]\nbackend = ram\naccess = ro\n[/b]\naccess = rw\nbackend = ram\naccess '
                       '= rw\n')
            file.flush()
            self.refused(f'{file.name}:7: this export has that key already', '--exports', file.name)

    def test_exports_are_a_regular_file(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, 'fifo')
            os.mkfifo(fifo, 0o600) # nobody writes to it: open() as a file would wait for ever
            self.refused('not a regular file', '--exports', fifo)
            self.refused('Is a directory', '--exports', folder)

    def test_files_of_exports_have_a_limit(self):
        with tempfile.NamedTemporaryFile() as file:
            self.refused('nothing to serve', *['--exports', file.name] * 64)
            self.refused('at most 64 options --export and', *['--exports', file.name] * 65)

    def test_rpcbinds_socket_is_absolute(self):
        self.refused('starts with /', '--export', 'a=ram', '--rpcbind', 'rpcbind.sock')


if __name__ == '__main__':
    unittest.main(verbosity=1)
