#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-nfsd on two lcores, with exports in memory, over shm. Several clients run at a time,
each on the lcore that its address selects. They use two exports, one on each lcore. Stored data
must be fetched unchanged, and the server must end cleanly, with or without active calls. Also tests
that idle threads sleep, and cores that cannot be used."""
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest

from nfs_tools import OK, Client, Server, unique

CLIENT, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
SIZES = (0, 1, 4096, 65537, (1 << 20) + 1)
CLIENTS = 4


class Lcores(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.addr = folder.name, unique('lcores')
        profile = os.path.join(self.folder, 'two.ini')
        with open(profile, 'w', encoding='ascii') as file:
            file.write('[engine]\nlcores = 0,1\nidle = yield\n')
        self.server = Server(SERVER, '--driver', 'shm', '--listen', self.addr, '--export',
                             '/a=ram:64m', '--export', '/b=ram:64m', '--profile', profile,
                             '--foreground', ready='export /a handle ')
        self.addCleanup(self.server.stop)
        second = self.server.process.stdout.readline()
        self.handles = [self.server.line.split()[-1], second.split()[-1]]
        self.tree = os.path.join(self.folder, 'tree')
        os.mkdir(self.tree)
        for size in SIZES:
            with open(os.path.join(self.tree, str(size)), 'wb') as file:
                file.write(random.Random(size).randbytes(size))
        os.symlink('x' * 3000, os.path.join(self.tree, 'link'))

    def client(self, export):
        return Client(CLIENT, '--server', self.addr, handle=self.handles[export])

    def all_at_once(self, commands):
        """Runs each pair (export, arguments) at the same time. All of them must succeed."""
        running = [subprocess.Popen([*self.client(export).command, *args], stdin=subprocess.DEVNULL,
                                    env=self.client(export).env, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT) for export, args in commands]
        for (export, args), process in zip(commands, running):
            out, _ = process.communicate(timeout=240)
            self.assertEqual(process.returncode, OK, (export, args, out.decode(errors='replace')))

    def test_trees_by_several_clients(self):
        several = [(turn % 2, turn) for turn in range(CLIENTS)]
        self.all_at_once([(export, ('put', '-r', self.tree, f'tree{turn}'))
                          for export, turn in several])
        # In about half of the cases, another lcore than the one that stored the file fetches it.
        backs = [os.path.join(self.folder, f'back{turn}') for turn in range(CLIENTS)]
        for back in backs:
            os.mkdir(back)
        self.all_at_once([(export, ('get', '-r', f'tree{turn}', backs[turn]))
                          for export, turn in several])
        for turn, back in enumerate(backs):
            subprocess.run(['diff', '-r', '--no-dereference', self.tree,
                            os.path.join(back, f'tree{turn}')], check=True)
        self.all_at_once([(export, ('rm', '-r', f'tree{turn}')) for export, turn in several])
        for export in range(2):
            self.assertEqual(self.client(export).ok(self, 'ls'), b'')

    def test_the_end_while_calls_are_under_way(self):
        # Half of them read and half write, each its own file, because the result of a READ during a
        # WRITE is not defined.
        loads = [subprocess.Popen([*self.client(turn % 2).command, '--retries', '1', '--timeout',
                                   '5', 'bench', '--file', f'bench{turn}', '--size', '1m',
                                   '--ratio', '100' if turn < 2 else '0', '--time', '60'],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=self.client(turn % 2).env)
                 for turn in range(CLIENTS)]
        try:
            # When the files exist, the load is running.
            for turn in range(CLIENTS):
                while self.client(turn % 2).run('stat', f'bench{turn}').returncode != OK:
                    self.assertIsNone(loads[turn].poll())
            self.server.stop()
        finally:
            for load in loads:
                load.kill()
                load.wait()


class Idle(unittest.TestCase):
    """Tests that the threads sleep by the descriptors of their engines. A thread that naps for a
    fixed time gives up the CPU thousands of times per second, and one that polls is never asleep.
    """

    QUIET = 1  # seconds without calls
    SWITCHES = 200  # limit of sleeps in that time, of each thread

    def tasks(self):
        """Returns the names of the server's threads, by thread."""
        folder = f'/proc/{self.server.process.pid}/task'
        names = {}
        for task in os.listdir(folder):
            with open(f'{folder}/{task}/comm', encoding='ascii') as file:
                names[f'{folder}/{task}'] = file.read().strip()
        return names

    def status(self, task, key):
        with open(f'{task}/status', encoding='ascii') as file:
            return dict(line.split(':', 1) for line in file)[key].strip()

    def check(self, idle):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o777)
        stored = os.path.join(folder.name, 'export')
        os.mkdir(stored, 0o777)
        os.chmod(stored, 0o777)
        profile = os.path.join(folder.name, 'idle.ini')
        with open(profile, 'w', encoding='ascii') as file:
            file.write(f'[engine]\nlcores = 0,1\nidle = {idle}\n')
        addr = unique('idle')
        self.server = Server(SERVER, '--driver', 'shm', '--listen', addr, '--export',
                             '/a=ram:64m', '--export', f'/b=dir:{stored}', '--profile', profile,
                             '--foreground', ready='export /a handle ')
        self.addCleanup(self.server.stop)
        second = self.server.process.stdout.readline()
        handles = [self.server.line.split()[-1], second.split()[-1]]
        content = os.path.join(folder.name, 'content')
        with open(content, 'wb') as file:
            file.write(random.Random(idle).randbytes((3 << 20) + 5))
        # Each thread is woken by calls, by messages of the other thread, and by its io_uring.
        for turn, handle in enumerate(handles * 2):
            client = Client(CLIENT, '--server', addr, handle=handle)
            back = os.path.join(folder.name, f'back{turn}')
            client.ok(self, 'put', content, f'file{turn}')
            client.ok(self, 'get', f'file{turn}', back)
            subprocess.run(['cmp', content, back], check=True)
        names = self.tasks()
        pollers = sorted((name, task) for task, name in names.items()
                         if name.startswith('weir-nfsd-'))
        self.assertEqual([name for name, _ in pollers], ['weir-nfsd-0', 'weir-nfsd-1'])
        for cpu, (_, task) in enumerate(pollers):
            self.assertEqual(self.status(task, 'Cpus_allowed_list'), str(cpu))
        self.assertIn('nfsd-dir', names.values())
        others = os.sched_getaffinity(0) - {0, 1}
        for task, name in names.items():
            if others and not name.startswith('weir-nfsd-'):
                self.assertEqual(os.sched_getaffinity(int(task.split('/')[-1])), others, name)
        key = 'voluntary_ctxt_switches'
        before = [int(self.status(task, key)) for _, task in pollers]
        time.sleep(self.QUIET)
        for count, (name, task) in zip(before, pollers):
            count = int(self.status(task, key)) - count
            self.assertGreater(count, 0, name)
            self.assertLess(count, self.SWITCHES, name)

    def test_event(self):
        self.check('event')

    def test_adaptive(self):
        self.check('adaptive')

    def test_cores_that_the_server_cannot_use(self):
        for cores, reason in (('0,900', 'this machine has no CPU 900; name some of'),
                              ('0,0', 'each once')):
            with tempfile.NamedTemporaryFile('w', suffix='.ini') as profile:
                profile.write(f'[engine]\nlcores = {cores}\n')
                profile.flush()
                done = subprocess.run([SERVER, '--driver', 'shm', '--listen', unique('bad'),
                                       '--export', '/a=ram:4m', '--profile', profile.name,
                                       '--foreground'], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn('[engine] lcores', done.stderr)
            self.assertIn(reason, done.stderr)
            self.assertIn(cores, done.stderr)


if __name__ == '__main__':
    unittest.main()
