#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the files of systemd for weir-nfsd: systemd accepts them, the sandbox of the unit is narrow
and leaves the server what its own sandbox leaves it, and the unit's times suffice for the server's
limits. Arguments: weir-nfsd, and the unit, the sysusers file and the tmpfiles file."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SERVER, UNIT, SYSUSERS, TMPFILES = map(os.path.abspath, sys.argv[1:5])
del sys.argv[1:5]
SOURCE = pathlib.Path(__file__).resolve().parents[3] / 'apps/weir-nfsd'
EXPOSURE_MAX = 40 # tenths; systemd calls this exposure 'OK'
# Needed only until the ports and exports are open.
AT_START = {'CAP_NET_BIND_SERVICE', 'CAP_SETPCAP', 'CAP_SYS_ADMIN'}
# By libraries, before the server's own filter.
CALLS_AT_START = {'io_uring_setup', 'io_uring_register', 'seccomp', 'prctl', 'clone3', 'execve',
                  'arch_prctl', 'sched_setaffinity', 'setpriority'}


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, timeout=120, check=False, **options)
    return done.returncode, done.stdout


def settings():
    """The lines of the unit by their keys."""
    found = {}
    for line in pathlib.Path(UNIT).read_text(encoding='utf-8').splitlines():
        if '=' in line and not line.startswith('#'):
            key, value = line.split('=', 1)
            found.setdefault(key, []).append(value)
    return found


def seconds(text):
    value, unit = re.fullmatch(r'(\d+)(min)?', text).groups()
    return int(value) * (60 if unit else 1)


def constant(header, name):
    text = (SOURCE / header).read_text(encoding='utf-8')
    return int(re.search(rf'^#define {name}\s+(\d+)u$', text, re.M)[1])


class Settings(unittest.TestCase):
    def test_the_server_that_was_built_is_started(self):
        command, = settings()['ExecStart']
        program, *options = command.split()
        self.assertEqual(os.path.basename(program), 'weir-nfsd')
        self.assertIn('--foreground', options)
        _, text = run(SERVER, '--help')
        for option in options:
            if option.startswith('--'):
                self.assertIn(option, text)

    def test_times_are_longer_than_the_limits_of_the_server(self):
        found = settings()
        # At the end, rpcbind comes first, then MOUNT, then calls.
        limit = 2 * constant('server.h', 'SERVER_DRAIN_S') + constant(
            'rpcbind.h', 'RPCBIND_PATIENCE_MS') // 1000
        self.assertGreater(seconds(found['TimeoutStopSec'][0]), limit)
        self.assertGreater(seconds(found['WatchdogSec'][0]), limit)
        self.assertEqual(found['Type'], ['notify'])

    def test_the_server_may_write_to_each_folder_that_is_made_for_it(self):
        text = pathlib.Path(TMPFILES).read_text(encoding='utf-8')
        made = re.findall(r'^d (\S+)', text, re.M)
        self.assertEqual(made, ['/run/weir-nfsd', '/run/dpdk'])
        paths = ' '.join(settings()['ReadWritePaths']).split()
        self.assertEqual([path for path in made if '-' + path not in paths], [])

    def test_the_capabilities_are_those_of_the_servers_sandbox(self):
        text = (SOURCE / 'sandbox.c').read_text(encoding='utf-8')
        kept = set(re.findall(r'\bCAP_[A-Z_]+(?=,\s*/\*)', text[text.index('kept[]'):]))
        self.assertEqual(len(kept), 9)
        given = set(' '.join(settings()['CapabilityBoundingSet']).split())
        self.assertEqual(given, kept | AT_START)


@unittest.skipUnless(shutil.which('systemd-analyze'), 'systemd is needed')
class Systemd(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.unit = os.path.join(self.folder, 'weir-nfsd.service')
        # The server is not installed.
        text = pathlib.Path(UNIT).read_text(encoding='utf-8')
        text, n = re.subn(r'^ExecStart=\S+', f'ExecStart={SERVER}', text, flags=re.M)
        self.assertEqual(n, 1)
        pathlib.Path(self.unit).write_text(text, encoding='utf-8')

    def test_the_unit_is_valid(self):
        self.assertEqual(run('systemd-analyze', 'verify', '--man=no', self.unit), (0, ''))

    def test_the_exposure_is_small(self):
        status, text = run('systemd-analyze', 'security', '--offline=true', '--no-pager',
                           f'--threshold={EXPOSURE_MAX}', self.unit)
        self.assertEqual(status, 0, text)
        self.assertIn('Overall exposure level', text)

    def calls_of(self, names):
        """The system calls of a list of calls and groups."""
        calls = set()
        for name in names:
            if not name.startswith('@'):
                calls.add(name)
                continue
            status, text = run('systemd-analyze', '--no-pager', 'syscall-filter', name)
            self.assertEqual(status, 0, text)
            lines = (line.strip() for line in text.splitlines()[1:])
            calls |= self.calls_of(line for line in lines if line and not line.startswith('#'))
        return calls

    def test_the_server_may_make_each_call_of_its_own_filter_and_of_its_start(self):
        text = (SOURCE / 'sandbox_filter.c').read_text(encoding='utf-8')
        body = text[text.index('plain[] = {'):]
        plain = set(re.findall(r'"(\w+)"', body[:body.index('};')]))
        some = set(re.findall(r'^\t\t\{"(\w+)", SCMP_CMP', text, re.M))
        self.assertGreater(len(plain), 100)
        self.assertIn('socket', some)
        direct = {name for path in SOURCE.rglob('*.c')
                  for name in re.findall(r'\bsyscall\(SYS_(\w+)', path.read_text(encoding='utf-8'))}
        self.assertIn('open_tree', direct)
        allowed = self.calls_of(' '.join(settings()['SystemCallFilter']).split())
        # An older systemd does not know calls that are newer.
        _, known = run('systemd-analyze', '--no-pager', 'syscall-filter')
        missing = {call for call in (plain | some | direct | CALLS_AT_START) - allowed
                   if re.search(rf'^ +#? *{call}$', known, re.M)}
        self.assertEqual(missing, set())
        # The check can find a call that is missing.
        self.assertNotIn('ptrace', allowed)
        self.assertNotIn('mount', allowed)
        self.assertRegex(known, re.compile(r'^ +#? *ptrace$', re.M))

    @unittest.skipUnless(os.geteuid() == 0, 'only root can create files of other users')
    @unittest.skipUnless(shutil.which('systemd-tmpfiles'), 'systemd-tmpfiles is needed')
    def test_the_user_and_the_folders_are_made(self):
        os.mkdir(os.path.join(self.folder, 'etc'))
        status, text = run('systemd-sysusers', f'--root={self.folder}', SYSUSERS)
        self.assertEqual(status, 0, text)
        passwd = pathlib.Path(self.folder, 'etc/passwd').read_text(encoding='utf-8')
        user = re.search(r'^weir-nfsd:[^:]*:(\d+):(\d+):', passwd, re.M)
        self.assertIsNotNone(user, passwd)
        status, text = run('systemd-tmpfiles', '--create', f'--root={self.folder}', TMPFILES)
        self.assertEqual(status, 0, text)
        made = os.stat(os.path.join(self.folder, 'run/weir-nfsd'))
        self.assertEqual((made.st_mode & 0o7777, str(made.st_uid), str(made.st_gid)),
                         (0o750, *user.groups()))
        # EAL refuses a folder to which others than root can write.
        made = os.stat(os.path.join(self.folder, 'run/dpdk'))
        self.assertEqual((made.st_mode & 0o7777, made.st_uid, made.st_gid), (0o700, 0, 0))


if __name__ == '__main__':
    unittest.main(verbosity=1)
