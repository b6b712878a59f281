#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the sections of programs in profiles: options of the programs that a profile sets.
Arguments: weir-bench, weir-nfsd and weir-nfs."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BENCH, NFSD, NFS = sys.argv[1:4]
del sys.argv[1:4]
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


class Nfs(Case):
    def test_weir_nfsd(self):
        section = '[app:weir-nfsd]\nlisten = x\nexport = a=ram:4m\nexport = b=ram:4m\n'
        # Both exports are added, so two of one name are an error.
        self.refuses(0, 'another export has this name', section.replace('b=', 'a='), NFSD)
        self.refuses(5, 'has no such option', section + 'exprot = c=ram\n', NFSD)
        self.refuses(5, '--mount-port', section + 'mount-port = 65536\n', NFSD)
        self.refuses(0, '--listen is missing', '[app:weir-nfs]\nserver = x\n', NFSD)

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


if __name__ == '__main__':
    unittest.main()
