#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the sections of programs in profiles: options of the programs that a profile sets. Tests
--show-profile. Arguments: weir-bench, weir-nfsd, weir-nfs, and shipped profiles."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BENCH, NFSD, NFS, *SHIPPED = sys.argv[1:]
del sys.argv[1:]
QUICK = ['--quiet', '--lcores', 'any', '--calls', '10', '--json', '-']


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'my.ini')

    def run_with(self, profile, program, *args):
        with open(self.path, 'w', encoding='utf-8') as file:
            file.write(profile)
        return subprocess.run([program, '--profile', self.path, *args], text=True, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)

    def refuses(self, line, text, profile, program, *args):
        """Checks for an error about a line of the profile, or about the options if 'line' is 0."""
        done = self.run_with(profile, program, *args)
        self.assertEqual((done.returncode, done.stdout), (2, ''), done.stderr)
        self.assertIn('%s:%d: ' % (self.path, line) if line else ': ', done.stderr)
        self.assertIn(text, done.stderr)


class Bench(Case):
    def points(self, profile, *args, status=0):
        done = self.run_with(profile, BENCH, *QUICK, *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return [(point['size'], point['depth'])
                for point in json.loads(done.stdout)['points']]

    def test_options_of_the_section_apply(self):
        section = '[app:weir-bench]\nsize = 100,200\ndepth = 3\nverify = no\n'
        self.assertEqual(self.points(section), [(100, 3), (200, 3)])
        self.assertEqual(self.points(section.replace('bench', 'nfsd')), [(64, 1)])

    def test_the_command_line_replaces_them(self):
        section = '[app:weir-bench]\nsize = 100,200\ndepth = 3\n'
        self.assertEqual(self.points(section, '--size', '300'), [(300, 3)])

    def test_an_option_that_can_be_repeated(self):
        section = '[app:weir-bench]\nthreshold = p50<1ns\nthreshold = max<1ns\n'
        self.points(section, status=3)
        self.points(section, '--threshold', 'p50<1s', status=0)

    def test_errors_name_the_line(self):
        start = '[connection]\ncredits = 20\n[app:weir-bench]\n'
        for line, text in (('speed = 3', 'has no such option'),
                           ('dept = 3', 'has no such option'), # no abbreviations
                           ('depth = 0', '--depth'),
                           ('depth = 0', 'expected'),
                           ('verify = 1', 'allowed: yes or no'),
                           ('driver = shm', '[engine]'),
                           ('profile = other.ini', 'only for the command line'),
                           ('help = yes', 'only for the command line'),
                           ('version = yes', 'only for the command line')):
            with self.subTest(line=line):
                self.refuses(4, text, start + line + '\n', BENCH)
        self.refuses(5, 'twice', start + 'depth = 1\ndepth = 2\n', BENCH)
        self.refuses(0, '--depth', start + 'size = 1\n', BENCH, '--depth', '0')

    def test_an_error_on_the_command_line_names_no_line(self):
        done = self.run_with('[app:weir-bench]\nsize = 1\n', BENCH, '--depth', '0')
        self.assertEqual(done.returncode, 2)
        self.assertNotIn(self.path, done.stderr)


    def test_sections_of_engines(self):
        cpus = sorted(os.sched_getaffinity(0))
        profile = '[engine]\nlcores = %d\n[engine:%d]\nidle = yield\n' % (cpus[0], cpus[0])
        self.assertEqual(self.points(profile, '--lcores', str(cpus[0])), [(64, 1)])
        self.refuses(3, 'CPU %d is not in lcores' % cpus[0],
                     profile.replace('lcores = %d' % cpus[0], 'lcores = 1000'), BENCH)
        # --lcores replaces the key, so a section can name a core without an engine.
        self.refuses(0, '[engine:%d]: CPU %d is not in lcores = 1000' % (cpus[0], cpus[0]),
                     profile, BENCH, '--lcores', '1000')
        if len(cpus) > 1:
            # Each side gets one of the cores.
            both = '[engine]\nlcores = %d,%d\n[engine:%d]\nsend_buffers = 100\n' % (
                *cpus[:2], cpus[1])
            self.assertEqual(self.points(both, '--lcores', '%d,%d' % tuple(cpus[:2])), [(64, 1)])


class Nfs(Case):
    def test_weir_nfsd(self):
        section = '[app:weir-nfsd]\nlisten = x\nexport = a=ram:4m\nexport = b=ram:4m\n'
        # Both exports are added, so two of one name are an error.
        self.refuses(0, 'another export has this name', section.replace('b=', 'a='), NFSD)
        self.refuses(5, 'has no such option', section + 'exprot = c=ram\n', NFSD)
        self.refuses(5, '--mount-port', section + 'mount-port = 65536\n', NFSD)
        self.refuses(0, '--listen is missing', '[app:weir-nfs]\nserver = x\n', NFSD)

    def test_memory_of_all_engines_counts(self):
        cpu = min(os.sched_getaffinity(0))
        profile = ('[app:weir-nfsd]\nlisten = x\nexport = a=ram:4m\nno-mount = yes\n'
                   '[engine]\nlcores = %d\n[engine:%d]\nbulk_buffers = 65536\n'
                   'bulk_buffer_bytes = 1g\n' % (cpu, cpu))
        for program, args in ((NFSD, []), (BENCH, ['--lcores', str(cpu)])):
            with self.subTest(program=program):
                done = self.run_with(profile, program, *args)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn('MiB are available', done.stderr)

    def test_the_smallest_buffers_of_all_engines_count(self):
        cpu = min(os.sched_getaffinity(0))
        profile = ('[app:weir-nfsd]\nlisten = x\nexport = a=ram:4m\nno-mount = yes\n'
                   '[engine]\nlcores = %d\n[engine:%d]\nbulk_buffer_bytes = 8k\n' % (cpu, cpu))
        done = self.run_with(profile, NFSD)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('bulk_buffer_bytes must be at least 12k', done.stderr)

    def test_weir_nfs(self):
        section = '[app:weir-nfs]\nserver = x\nexport = e\ndepth = 8\n'
        # Options that are only for some commands do not matter to the others.
        done = self.run_with(section + '[connection]\nconnect_timeout_ms = 1\n', NFS,
                             '--mount-port', '1', '--retries', '0', 'ls', '/')
        self.assertEqual(done.returncode, 3, done.stderr)
        self.refuses(0, 'an option is not valid for the command ls', '[app:weir-nfs]\n', NFS,
                     '--server', 'x', '--export', 'e', '--depth', '8', 'ls', '/')
        self.refuses(5, 'only for the command line', section + 'recursive = yes\n', NFS, 'rm', 'a')
        self.refuses(5, '--retries', section + 'retries = many\n', NFS, 'ls', '/')


class Show(Case):
    def show(self, profile, program, *args, status=0):
        done = self.run_with(profile, program, '--show-profile', *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def shows_again(self, profile, program, *args):
        """Returns what is printed, after checking that it is a profile with the same effect."""
        shown = self.show(profile, program, *args)
        self.assertEqual(self.show(shown, program), shown)
        # Each effect is in the profile, so the same options change nothing.
        self.assertEqual(self.show(shown, program, *args), shown)
        return shown

    def test_what_is_printed_has_the_same_effect(self):
        changed = '[connection]\ncredits = 100\n[engine]\nlcores = any\n[limits]\nread_bytes = 3g\n'
        for program in (BENCH, NFSD, NFS):
            for profile in ('', changed):
                with self.subTest(program=program, profile=profile):
                    shown = self.shows_again(profile, program)
                    self.assertIn('--show-profile', shown.splitlines()[0])
                    self.assertIn('\n[app:%s]\n' % os.path.basename(program), shown)
                    if profile:
                        for line in profile.splitlines():
                            self.assertIn('\n%s\n' % line, shown)

    def test_sections_of_engines_are_printed(self):
        sections = ('[engine:0,2-3]\nidle = adaptive\nrecv_buffers = 300\n\n[engine:1]\n'
                    'driver_options =\n\n')
        for program in (BENCH, NFSD, NFS):
            with self.subTest(program=program):
                shown = self.shows_again('[engine]\nlcores = 0-3\n' + sections, program)
                self.assertIn('\n\n%s[app:' % sections, shown)

    def test_without_a_profile(self):
        for program in (BENCH, NFSD, NFS):
            done = subprocess.run([program, '--show-profile'], text=True, timeout=60, check=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.assertEqual(self.shows_again(done.stdout, program), done.stdout)

    def test_shipped_profiles(self):
        self.assertNotEqual(SHIPPED, [])
        for path in SHIPPED:
            for program in (BENCH, NFSD, NFS):
                with self.subTest(program=program, profile=path):
                    self.shows_again('include = %s\n' % os.path.abspath(path), program)

    def test_options_become_keys(self):
        shown = self.shows_again('[app:weir-bench]\ndepth = 4\nsize = 8\nverify = no\n'
                                 'threshold = p50<2s\nin-turn = yes\n',
                                 BENCH, '--size', '1k', '--time', '1', '--time', '2', '--verify',
                                 '--threshold', 'p50<1s', '--threshold', 'p99<1s')
        self.assertEqual(shown[shown.index('[app:'):],
                         '[app:weir-bench]\ndepth = 4\nin-turn = yes\nsize = 1k\ntime = 2\n'
                         'verify = yes\nthreshold = p50<1s\nthreshold = p99<1s\n')

    def test_each_file_of_exports_is_kept(self):
        paths = [os.path.join(os.path.dirname(self.path), name) for name in ('x', 'y')]
        for path in paths:
            with open(path, 'w', encoding='utf-8') as file:
                file.write('[%s]\nbackend = ram:4m\n' % os.path.basename(path))
        shown = self.shows_again('', NFSD, '--exports', paths[0], '--export', 'z=ram:4m',
                                 '--exports', paths[1])
        self.assertIn('[app:weir-nfsd]\nexports = %s\nexport = z=ram:4m\nexports = %s\n' %
                      tuple(paths), shown)

    def test_options_of_the_profile_change_it(self):
        shown = self.shows_again('', BENCH, '--driver', 'shm', '--inline', '8k', '--depth', '300',
                                 '--lcores', 'any')
        for line in ('inline_bytes = 8k', 'credits = 300', 'lcores = any', 'driver = shm'):
            self.assertIn('\n%s\n' % line, shown)
        self.assertNotIn('\ndriver-options', shown)
        shown = self.shows_again('', NFS, '--retries', '3', '-q', '-r', '--depth=9')
        self.assertIn('\nresends = 3\n', shown)
        self.assertIn('[app:weir-nfs]\nretries = 3\nquiet = yes\ndepth = 9\n', shown)
        self.assertNotIn('recursive', shown)

    def test_includes_are_resolved(self):
        base = os.path.join(os.path.dirname(self.path), 'base.ini')
        with open(base, 'w', encoding='utf-8') as file:
            file.write('[connection]\ncredits = 77\n[app:weir-nfsd]\nlisten = x\n')
        shown = self.shows_again('include = base.ini\n', NFSD, '--no-mount')
        self.assertIn('\ncredits = 77\n', shown)
        self.assertIn('[app:weir-nfsd]\nlisten = x\nno-mount = yes\n', shown)
        self.assertNotIn('include', shown)

    def test_an_error_prints_no_profile(self):
        self.assertIn('credits', self.show('[connection]\ncredits = 0\n', BENCH, status=2))
        self.assertIn("'a#b'", self.show('', BENCH, '--json', 'a#b', status=2))
        self.assertIn("' a'", self.show('', BENCH, '--listen', ' a', status=2))


if __name__ == '__main__':
    unittest.main()
