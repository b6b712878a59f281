#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests programs without enough resources: with memory limited by a cgroup, and without /sys. They
must end before they allocate anything, with one line on standard error that says what is missing
and how to correct that. Arguments: weir-bench, weir-nfsd."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

BENCH, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
LIMIT = 128 << 20
BENCH_LOAD = [BENCH, '--workload', 'read', '--size', '1m', '--depth', '512', '--lcores', 'any',
              '--time', '0.1', '--json', '-']


def unshare_works():
    return subprocess.run(['unshare', '-m', 'true'], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


@unittest.skipUnless(unshare_works(), 'needs a mount namespace of its own: run as root')
class NoRoom(unittest.TestCase):
    def run_with(self, mounts, command):
        """Runs 'command' in a mount namespace, after the shell command 'mounts'."""
        return subprocess.run(['unshare', '-m', 'sh', '-c', f'{mounts} && exec "$0" "$@"',
                               *command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                              timeout=60, check=False)

    def limited(self, files, cgroup, command):
        """Runs the program with the given content in the cgroup file system and in
        /proc/self/cgroup."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = os.path.join(folder, 'cgroup', name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'w', encoding='ascii') as file:
                    file.write(text)
            own = os.path.join(folder, 'own')
            with open(own, 'w', encoding='ascii') as file:
                file.write(cgroup)
            # Reserved hugepages count in addition to the limit. Other tests decide whether they are
            # free.
            meminfo = os.path.join(folder, 'meminfo')
            with open('/proc/meminfo',
                      encoding='ascii') as file, open(meminfo, 'w', encoding='ascii') as copy:
                copy.write(re.sub(r'(HugePages_Free: *)\d+', r'\g<1>0', file.read()))
            # /proc/self is another folder for each process. exec makes the shell's folder that of
            # the program.
            return self.run_with(f'mount --bind {folder}/cgroup /sys/fs/cgroup && mount --bind '
                                 f'{meminfo} /proc/meminfo && mount --bind {own} /proc/$$/cgroup',
                                 command)

    def both_versions(self, command):
        used = str(4 << 20)
        yield self.limited({'memory/box/memory.limit_in_bytes': str(LIMIT),
                            'memory/box/memory.usage_in_bytes': used},
                           '4:memory:/box/inner\n',
                           command), '/sys/fs/cgroup/memory/box/memory.limit_in_bytes'
        yield self.limited({'box/memory.max': str(LIMIT), 'box/memory.current': used}, '0::/box\n',
                           command), '/sys/fs/cgroup/box/memory.max'

    def test_weir_bench_in_a_memory_cgroup(self):
        for done, limit in self.both_versions(BENCH_LOAD):
            self.assertEqual((done.returncode, done.stdout), (1, ''), done.stderr)
            self.assertIn('but 124 MiB are available', done.stderr)
            self.assertIn(limit, done.stderr)
            self.assertEqual(done.stderr.count('\n'), 1, done.stderr)

    def test_weir_nfsd_in_a_memory_cgroup(self):
        for foreground in ([], ['--foreground']):
            for done, limit in self.both_versions([SERVER, '--driver', 'shm', '--listen',
                                                   f'no-room-{os.getpid()}', '--no-mount',
                                                   '--no-rpcbind', '--export', 'a=ram:512m',
                                                   *foreground]):
                self.assertEqual((done.returncode, done.stdout), (1, ''), done.stderr)
                self.assertIn('the exports in memory take 512 MiB', done.stderr)
                self.assertIn('124 MiB are available', done.stderr)
                self.assertIn(limit, done.stderr)

    def test_no_sys(self):
        for command in (BENCH_LOAD[:1] + ['--calls', '10', '--lcores', 'any', '--json', '-',
                                          '--quiet'],
                        BENCH_LOAD[:1] + ['--calls', '10', '--json', '-', '--quiet', '--threads'],
                        [SERVER, '--driver', 'shm', '--listen', f'no-sys-{os.getpid()}',
                         '--no-mount', '--no-rpcbind', '--export', 'a=ram:8m', '--foreground']):
            done = self.run_with('mount -t tmpfs none /sys', command)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stdout, '', command)
            self.assertIn('/sys/devices/system/cpu, which does not exist', done.stderr)
            self.assertIn('mount -t sysfs', done.stderr)
            self.assertNotIn('Usage', done.stderr)


if __name__ == '__main__':
    unittest.main()
