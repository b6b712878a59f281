#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installed files have measures that make memory errors harder to exploit: stack canaries, checked
copies, addresses that cannot be guessed, linker tables that are read-only from the start, and a
stack that cannot be executed. Arguments: meson, the build, and whether it is optimized."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

MESON, BUILD, OPTIMIZED = sys.argv[1:]
# at least
PROGRAMS = {'weir-bench', 'weir-check', 'weir-decode', 'weir-exporter', 'weir-nfs', 'weir-nfsd',
            'weir-top'}


def output_of(*args, env=None):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=100, check=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, 'LC_ALL': 'C', **(env or {})}).stdout


class Hardening(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        output_of(*shlex.split(MESON), 'install', '-C', BUILD, '--no-rebuild', '--quiet',
                  env={'DESTDIR': str(cls.root)})
        files = [path for path in sorted(cls.root.rglob('*')) if path.is_file() and
                 not path.is_symlink()]
        cls.elf = [path for path in files if path.read_bytes()[:4] == b'\x7fELF']
        cls.archives = [path for path in files if path.suffix == '.a']
        cls.headers = {path: output_of('readelf', '-W', '-h', '-l', '-d', '--dyn-syms', str(path))
                       for path in cls.elf}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self, pattern, *, absent=False):
        """Checks that readelf's lines match the pattern for each program and shared library, or for
        none of them."""
        for path, text in self.headers.items():
            with self.subTest(file=path.name):
                (self.assertNotRegex if absent
                 else self.assertRegex)(text, re.compile(pattern, re.M))

    def test_all_programs_and_libraries_are_looked_at(self):
        names = {path.name for path in self.elf}
        self.assertLessEqual(PROGRAMS, names)
        self.assertTrue([name for name in names if name.startswith('libweir.so')], names)
        self.assertTrue([path for path in self.archives if path.name == 'libweir.a'])

    def test_addresses_are_random(self):
        self.each(r'^ +Type: +DYN ') # a position-independent executable, or a shared library
        self.each('TEXTREL', absent=True)

    def test_linker_tables_are_read_only(self):
        self.each(r'^ +GNU_RELRO ')
        self.each(r'\((FLAGS|FLAGS_1|BIND_NOW)\).*(BIND_NOW|NOW)')

    def test_the_stack_cannot_be_run(self):
        self.each(r'^ +GNU_STACK +(0x\w+ +){5}RW +0x')

    def test_no_memory_is_writable_and_runs(self):
        self.each(r'^ +LOAD .* RWE ', absent=True)

    def test_stacks_have_canaries(self):
        self.each(r' UND __stack_chk_fail\b')
        for path in self.archives:
            with self.subTest(file=path.name):
                # nm would show what a linker's plugin makes of the archive's intermediate code
                # instead.
                self.assertRegex(output_of('readelf', '-Ws', str(path)), r' UND __stack_chk_fail\b')

    @unittest.skipUnless(OPTIMIZED == 'true', 'checked copies need the optimizer')
    def test_copies_are_checked(self):
        self.each(r' UND __(mem\w+|v?[fs]n?printf)_chk\b')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
