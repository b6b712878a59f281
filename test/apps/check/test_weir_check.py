#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-check as a program: options, both forms of output, the exit status, and --fix. The
machines are folders of files, so that nothing of this machine changes. Arguments: weir-check, and
shipped profiles."""

import json
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, *SHIPPED = sys.argv[1:]
del sys.argv[1:]
CONFIG = {pathlib.Path(path).name: path for path in SHIPPED}
BENCH = CONFIG['bench-2core.ini']
HUGE = 'sys/kernel/mm/hugepages/hugepages-2048kB'
# Two engines with 47 hugepages each.
NEEDED = 94


def run(*args, **options):
    options = {'stdin': subprocess.DEVNULL, **options}
    return subprocess.run([PROGRAM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=60, check=False, **options)


class Machine(unittest.TestCase):
    """A machine with two CPUs and without hugepages, whose files change like those of a kernel."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ('present', 'online'):
            self.put('sys/devices/system/cpu/' + name, '0-1\n')
        self.put('sys/devices/system/cpu/isolated', '\n')
        self.put('sys/devices/system/node/node0/cpulist', '0-1\n')
        self.put('sys/devices/system/node/node0/distance', '10\n')
        self.put('proc/meminfo', 'MemAvailable: 8388608 kB\nHugepagesize: 2048 kB\n')
        self.put('proc/self/limits', 'Max locked memory  8388608  8388608  bytes\n')
        self.put('proc/self/status', 'Cpus_allowed_list:\t0-1\nCapEff:\t0\n')
        self.put('proc/irq/9/smp_affinity_list', '0-1\n')
        self.put('proc/irq/9/eth0/x', '')
        self.put(HUGE + '/nr_hugepages', '0\n')
        # A hugepage that is reserved is free.
        (self.root / HUGE / 'free_hugepages').symlink_to('nr_hugepages')

    def put(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='ascii')

    def check(self, *args, status=0, **options):
        done = run('--sysroot', str(self.root), *args, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def as_nobody(self, *args):
        """Runs a copy of the program, on this machine, as a user without rights."""
        os.chmod(self.root, 0o755)
        copy = self.root / 'weir-check'
        shutil.copy(PROGRAM, copy)

        def become():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
        return subprocess.run([copy, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                              preexec_fn=become)

    def profile(self, text):
        self.put('my.ini', text)
        return str(self.root / 'my.ini')

    def hugepages(self):
        return (self.root / HUGE / 'nr_hugepages').read_text(encoding='ascii').strip()


class Report(Machine):
    def test_a_text_has_cause_effect_and_remedy(self):
        text = self.check(BENCH, status=3).stdout
        self.assertIn('memory: 2 engines with 93 MiB of buffers each, 186 MiB in total\n', text)
        self.assertIn('hugepages of 2 MiB: %d needed, 0 of 0 free\n' % NEEDED, text)
        self.assertIn('warning: hugepages\n  cause:  ', text)
        self.assertIn('\n  effect: ', text)
        self.assertIn('\n  remedy: as root: hugeadm --pool-pages-min 2MB:%d\n' % NEEDED, text)
        self.assertIn('0 errors, 1 warning (', text)
        self.assertNotIn('note:', text)
        self.assertIn('\nnote: isolcpus\n', self.check('--verbose', BENCH, status=3).stdout)

    def test_nothing_to_report(self):
        self.put(HUGE + '/nr_hugepages', '%d\n' % NEEDED)
        done = self.check(BENCH)
        self.assertIn('nothing to report', done.stdout)
        self.assertEqual(done.stderr, '')
        self.put(HUGE + '/nr_hugepages', '%d\n' % (NEEDED - 1))
        self.check(BENCH, status=3)

    def test_json(self):
        report = json.loads(self.check('--json', BENCH, status=3).stdout)
        self.assertEqual((report['schema'], report['status'], report['profile']),
                         (1, 'warning', BENCH))
        memory = report['memory']
        self.assertEqual(memory['engines'], 2)
        self.assertEqual(memory['bytes'], 2 * memory['engine_bytes'])
        self.assertEqual(sum(pool['bytes'] for pool in memory['pools']), memory['engine_bytes'])
        self.assertEqual(report['hugepages'], [{'page_bytes': 2 << 20, 'node': None,
                                                'needed': NEEDED, 'free': 0, 'total': 0}])
        finding, *notes = report['findings']
        self.assertEqual((finding['severity'], finding['check']), ('warning', 'hugepages'))
        self.assertEqual(finding['steps'],
                         [{'path': '%s/%s/nr_hugepages' % (self.root, HUGE),
                           'text': str(NEEDED)}])
        self.assertIsInstance(finding['remedy'], list)
        self.assertTrue(all(note['severity'] == 'note' and not note['steps'] for note in notes))

    def test_json_of_a_name_that_is_no_utf8(self):
        name = os.fsencode(str(self.root)) + b'/\xff"\\\n.ini'
        with open(name, 'wb') as file:
            file.write(b'[engine]\nlcores = any\n')
        done = subprocess.run([PROGRAM, '--json', '--sysroot', str(self.root), name], check=True,
                              stdout=subprocess.PIPE, timeout=60)
        self.assertTrue(json.loads(done.stdout)['profile'].endswith('/?"\\\n.ini'))

    def test_an_appliance_on_a_small_machine(self):
        done = self.check(CONFIG['appliance-2socket.ini'], status=4)
        for text in ('error: lcores', 'does not have CPUs 2-15,17-31', 'error: memlock',
                     'error: RDMA device', 'no RDMA device mlx5_0', 'no RDMA device mlx5_1',
                     'take %d hugepages' % (30 * 113), 'dpdk-hugepages.py -p 2M -r 6780M',
                     'warning: isolcpus', 'warning: nohz_full', 'warning: interrupts'):
            self.assertIn(text, done.stdout)

    def test_an_appliance_on_its_machine(self):
        """Each socket has 16 cores, hugepages for its engines, and one of the devices."""
        for name in ('present', 'online'):
            self.put('sys/devices/system/cpu/' + name, '0-31\n')
        self.put('sys/devices/system/cpu/isolated', '1-15,17-31\n')
        self.put('sys/devices/system/cpu/nohz_full', '1-15,17-31\n')
        self.put('proc/self/status', 'Cpus_allowed_list:\t0-31\nCapEff:\tffffffffffffffff\n')
        self.put('proc/irq/9/smp_affinity_list', '0\n')
        self.put('dev/infiniband/rdma_cm', '')
        self.put(HUGE + '/nr_hugepages', '3400\n')
        for node in range(2):
            first = 16 * node
            folder = 'sys/devices/system/node/node%d/' % node
            self.put(folder + 'cpulist', '%d-%d\n' % (first, first + 15))
            self.put(folder + 'distance', '10 21\n' if node == 0 else '21 10\n')
            for name in ('nr', 'free'):
                self.put(folder + 'hugepages/hugepages-2048kB/%s_hugepages' % name, '1700\n')
            for cpu in range(first, first + 16):
                self.put('sys/devices/system/cpu/cpu%d/node%d/x' % (cpu, node), '')
            device = 'sys/class/infiniband/mlx5_%d/' % node
            self.put(device + 'ports/1/state', '4: ACTIVE\n')
            self.put(device + 'device/numa_node', '%d\n' % node)
        report = json.loads(self.check('--json', CONFIG['appliance-2socket.ini']).stdout)
        self.assertEqual([(entry['node'], entry['needed']) for entry in report['hugepages']],
                         [(None, 30 * 113), (0, 15 * 113), (1, 15 * 113)])
        # Without the section, the device of the first socket is far from the second one.
        path = self.profile('include = %s\n[engine:17-31]\ndriver_options = device=mlx5_0\n' %
                            os.path.abspath(CONFIG['appliance-2socket.ini']))
        self.assertIn('CPUs 17-31 of the profile and mlx5_0, which is on NUMA node 0',
                      self.check(path, status=3).stdout)

    def test_shipped_profiles(self):
        self.assertNotEqual(SHIPPED, [])
        for path in SHIPPED:
            with self.subTest(profile=path):
                done = run('--sysroot', str(self.root), '--json', path)
                report = json.loads(done.stdout)
                status = {'ok': 0, 'warning': 3, 'error': 4}[report['status']]
                self.assertEqual(done.returncode, status)
                self.assertGreater(report['memory']['bytes'], 0)

    def test_this_machine(self):
        done = run('--json', BENCH)
        self.assertIn(done.returncode, (0, 3, 4), done.stderr)
        self.assertEqual(json.loads(done.stdout)['memory']['engines'], 2)

    def test_a_machine_of_which_nothing_is_known(self):
        empty = self.root / 'empty'
        empty.mkdir()
        done = run('--sysroot', str(empty), CONFIG['laptop.ini'])
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_sections_of_engines(self):
        path = self.profile('[engine]\nlcores = 0-1\n[memory]\npages = 4k\n'
                            '[engine:1]\nbulk_buffers = 64\n')
        self.assertIn('memory: 1 engine with 59 MiB of buffers each [engine], '
                      '1 engine with 93 MiB of buffers each [engine:1], 152 MiB in total\n',
                      self.check(path).stdout)
        memory = json.loads(self.check('--json', path).stdout)['memory']
        self.assertEqual([(part['section'], part['engines']) for part in memory['sections']],
                         [('engine', 1), ('engine:1', 1)])
        self.assertEqual(memory['bytes'],
                         sum(part['engine_bytes'] for part in memory['sections']))
        for part in memory['sections']:
            self.assertEqual(sum(pool['bytes'] for pool in part['pools']), part['engine_bytes'])

    def test_engines(self):
        path = self.profile('[engine]\nlcores = any\n')
        self.assertIn('1 engine with', self.check(path).stdout)
        self.assertIn('see --engines', self.check(path).stdout)
        done = self.check('--engines', '3', path)
        self.assertIn('3 engines with', done.stdout)
        self.assertNotIn('see --engines', done.stdout)


class Options(Machine):
    def refuses(self, text, *args):
        done = run(*args)
        self.assertEqual((done.returncode, done.stdout), (2, ''), done.stderr)
        self.assertTrue(done.stderr.startswith('weir-check: ') or PROGRAM in done.stderr)
        self.assertIn(text, done.stderr)

    def test_wrong_options(self):
        self.refuses('name a profile')
        self.refuses('no-such', '--no-such', BENCH)
        self.refuses('only one profile', BENCH, BENCH)
        self.refuses('only one profile', '--profile', BENCH, BENCH)
        self.refuses('No such file', str(self.root / 'missing.ini'))
        self.refuses('regular file', str(self.root))
        self.refuses('[connection] credits', self.profile('[connection]\ncredits = 0\n'))
        self.refuses('--yes', '--yes', BENCH)
        self.refuses('--engines', '--engines', '0', self.profile(''))
        self.refuses('for each CPU', '--engines', '2', BENCH)
        self.refuses('--driver', '--driver', 'nosuch', BENCH)
        self.refuses('no such user', '--user', 'no-such-user', BENCH)
        self.refuses('name of a user', '--user', '../x', BENCH)
        self.refuses('--sysroot', '--sysroot', '/' + 'x' * 255, BENCH)
        for option in ('fix', 'yes', 'sysroot'):
            self.refuses('only for the command line',
                         self.profile('[app:weir-check]\n%s = yes\n' % option))

    def test_help_and_version(self):
        for args in (('--help',), ('-h',), ('--version',)):
            done = run(*args)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            self.assertIn('weir-check', done.stdout)

    def test_the_profile_can_stand_anywhere(self):
        expected = self.check('--verbose', BENCH, status=3).stdout
        self.assertEqual(self.check(BENCH, '--verbose', status=3).stdout, expected)
        self.assertEqual(self.check('--verbose', '--', BENCH, status=3).stdout, expected)
        self.assertEqual(self.check('--profile', BENCH, '--verbose', status=3).stdout, expected)

    def test_the_section_of_the_profile(self):
        path = self.profile('[app:weir-check]\njson = yes\nengines = 4\n')
        self.assertEqual(json.loads(self.check(path).stdout)['memory']['engines'], 4)
        self.assertEqual(
            json.loads(self.check('--engines', '2', path).stdout)['memory']['engines'], 2)
        shown = self.check('--show-profile', path).stdout
        self.assertIn('[app:weir-check]\njson = yes\nengines = 4\n', shown)

    def test_a_profile_that_may_not_be_read(self):
        path = self.profile('')
        os.chmod(path, 0)
        done = self.as_nobody(path)
        self.assertEqual((done.returncode, done.stdout), (2, ''))
        self.assertIn('Permission denied', done.stderr)


class Fix(Machine):
    def test_nothing_is_left(self):
        done = self.check('--fix', '--yes', BENCH)
        self.assertEqual(self.hugepages(), str(NEEDED))
        self.assertIn('steps of the remedies:\n  echo %d > ' % NEEDED, done.stdout)
        self.assertIn('nr_hugepages: done\n\nafter the remedies:\n', done.stdout)
        self.assertIn('nothing to report', done.stdout[done.stdout.index('after the'):])
        # Nothing is done again.
        done = self.check('--fix', BENCH)
        self.assertNotIn('steps', done.stdout)

    def test_json_has_only_the_result(self):
        done = self.check('--fix', '--yes', '--json', BENCH)
        self.assertEqual(json.loads(done.stdout)['status'], 'ok')
        self.assertIn('nr_hugepages: done', done.stderr)

    def test_findings_that_remain(self):
        path = self.profile('[engine]\nlcores = 1\nidle = spin\n')
        done = self.check('--fix', '--yes', path, status=3)
        self.assertEqual((self.root / 'proc/irq/9/smp_affinity_list').read_text('ascii'), '0')
        left = done.stdout[done.stdout.index('after the remedies'):]
        self.assertIn('warning: isolcpus', left)
        self.assertNotIn('warning: interrupts', left)
        # A note has no steps.
        self.assertEqual(self.hugepages(), '0')
        done = self.check('--fix', path, status=3)
        self.assertIn('--fix can apply none of these remedies', done.stdout)

    def test_a_step_that_fails(self):
        for name in ('present', 'online'):
            self.put('sys/devices/system/cpu/' + name, '0-63\n')
        self.put('proc/self/status', 'Cpus_allowed_list:\t0-63\n')
        # A step follows no link. The file has a number of at most 63.
        refusing = '/proc/sys/kernel/cap_last_cap'
        (self.root / 'proc/irq/9/smp_affinity_list').unlink()
        (self.root / 'proc/irq/9/smp_affinity_list').symlink_to(refusing)
        self.put('proc/irq/10/smp_affinity_list', '1\n')
        self.put('proc/irq/10/eth1/x', '')
        path = self.profile('[engine]\nlcores = 1-63\nidle = spin\n')
        done = self.check('--fix', '--yes', path, status=1)
        self.assertIn('proc/irq/9/smp_affinity_list: failed: ', done.stdout)
        # The other steps are applied, and the finding remains.
        self.assertEqual((self.root / 'proc/irq/10/smp_affinity_list').read_text('ascii'), '0')
        left = done.stdout[done.stdout.index('after the remedies'):]
        self.assertIn('may handle 1 interrupt: 9 (eth0)', left)

    def test_memlock_of_a_user(self):
        path = self.profile('[engine]\nlcores = any\ndriver = verbs\n')
        conf = self.root / 'etc/security/limits.d/60-weir-alice.conf'
        done = self.check('--fix', '--yes', '--user', 'alice', path, status=1)
        self.assertIn(': failed: No such file or directory', done.stdout)
        conf.parent.mkdir(parents=True)
        done = self.check('--fix', '--yes', '--user', 'alice', path, status=4)
        self.assertEqual(conf.read_text('ascii'), 'alice - memlock unlimited\n')
        left = done.stdout[done.stdout.index('after the remedies'):]
        self.assertNotIn('memlock', left)
        self.assertIn('error: RDMA device', left)

    def test_without_a_terminal_nothing_changes(self):
        done = self.check('--fix', BENCH, status=1)
        self.assertIn('not a terminal', done.stderr)
        self.assertEqual(self.hugepages(), '0')

    def answer(self, text, status):
        ours, theirs = pty.openpty()
        try:
            os.write(ours, text)
            return self.check('--fix', BENCH, status=status, stdin=theirs)
        finally:
            os.close(ours)
            os.close(theirs)

    def test_an_answer(self):
        for text in (b'n\n', b'\n', b'yesterday\n', b'\x04'):
            with self.subTest(answer=text):
                done = self.answer(text, 1)
                self.assertIn('[y/N]', done.stdout)
                self.assertIn('nothing was changed', done.stderr)
                self.assertEqual(self.hugepages(), '0')
        self.answer(b'y\n', 0)
        self.assertEqual(self.hugepages(), str(NEEDED))

    def test_a_machine_that_changes_before_the_answer(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROGRAM, '--sysroot', str(self.root), '--fix', BENCH], stdin=theirs,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            said = b''
            while b'[y/N]' not in said:
                part = process.stdout.read1()
                self.assertNotEqual(part, b'', said)
                said += part
            self.put(HUGE + '/nr_hugepages', '500\n')
            os.write(ours, b'y\n')
            self.assertIn(b'nothing to report', process.stdout.read())
            self.assertEqual(process.wait(), 0)
        os.close(ours)
        os.close(theirs)
        # The step would have lowered the number.
        self.assertEqual(self.hugepages(), '500')

    def test_without_root(self):
        path = self.profile('[engine]\nlcores = any\n[memory]\npages = 2m\n')
        os.chmod(path, 0o644)
        steps = [step for finding in json.loads(self.as_nobody('--json', path).stdout)['findings']
                 for step in finding['steps']]
        done = self.as_nobody('--fix', '--yes', path)
        self.assertNotIn('steps of the remedies', done.stdout)
        # If the machine has hugepages, nothing would change.
        self.assertEqual('run it as root' in done.stderr, bool(steps))
        self.assertEqual(done.returncode == 1, bool(steps))


if __name__ == '__main__':
    unittest.main()
