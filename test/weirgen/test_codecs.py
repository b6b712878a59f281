#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the code of weirgen without warnings, in C and C++, and compares its codecs byte for
byte with those of rpcgen and libtirpc. Arguments: weirgen, the folder of weir's headers, libweir.a,
the linker's arguments for what libweir.a needs, the compiler, and the .x files."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

WEIRGEN, INCLUDE, LIBRARY = (pathlib.Path(name).resolve() for name in sys.argv[1:4])
split = sys.argv.index('--')
NEEDS, CC = sys.argv[4], sys.argv[5:split]
FILES = [pathlib.Path(name).resolve() for name in sys.argv[split + 1:]]
HERE = pathlib.Path(__file__).resolve().parent
WARNINGS = ['-pedantic', '-Wall', '-Wextra', '-Werror', '-Wconversion', '-Wshadow', '-Wcast-qual',
            '-Wstrict-prototypes', '-Wmissing-prototypes', '-Wundef', '-Wpointer-arith']
CXX_WARNINGS = ['-pedantic', '-Wall', '-Wextra', '-Werror', '-Wconversion']

sys.path[:0] = [str(WEIRGEN.parent), str(HERE)]
import filler # pylint: disable=wrong-import-position
from rpcl import check, output, parse, source # pylint: disable=wrong-import-position


def run(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise AssertionError('%s: exit %d\n%s' % (command, done.returncode, done.stdout[-4000:]))
    return done.stdout


class Codecs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def generate(self, path):
        run(WEIRGEN, '--messages', '-o', self.folder, path)
        return sorted(self.folder.glob(path.stem + '_*.c'))

    def test_code_compiles_without_warnings(self):
        compilers = [CC] + [[name] for name in ('gcc', 'clang') if shutil.which(name)]
        for path in FILES:
            for code in self.generate(path):
                for compiler in compilers:
                    for standard in ('c11', 'c17'):
                        run(*compiler, '-std=' + standard, *WARNINGS, '-fsyntax-only', '-I',
                            INCLUDE, code)

    def test_headers_compile_in_cxx(self):
        compilers = [name for name in ('g++', 'clang++') if shutil.which(name)]
        includes = ''
        for path in FILES:
            self.generate(path)
            for header in sorted(self.folder.glob(path.stem + '_*.h')):
                includes = '#include "%s"\n' % header.name
                (self.folder / 'use.cc').write_text(includes + 'int main() { return 0; }\n',
                                                    encoding='utf-8')
                for compiler in compilers:
                    for standard in ('c++11', 'c++20'):
                        run(compiler, '-std=' + standard, *CXX_WARNINGS, '-fsyntax-only', '-I',
                            INCLUDE, 'use.cc', cwd=self.folder)

    def test_output_is_the_same_each_time(self):
        for path in FILES:
            first = {code: code.read_text(encoding='utf-8') for code in self.generate(path)}
            self.assertEqual(first, {code: code.read_text(encoding='utf-8')
                                     for code in self.generate(path)})

    def test_rpcgen_accepts_the_files(self):
        if not shutil.which('rpcgen'):
            self.skipTest('rpcgen is not installed: apt-get install rpcsvc-proto')
        for path in FILES:
            shutil.copy(path, self.folder)
            run('rpcgen', '-h', '-o', path.stem + '.out', path.name, cwd=self.folder)

    def compare(self, path):
        """Builds compare.c with the codecs of both generators, and runs it."""
        shutil.copy(path, self.folder)
        codes = self.generate(path)
        run('rpcgen', '-h', '-o', path.stem + '.h', path.name, cwd=self.folder)
        run('rpcgen', '-c', '-o', path.stem + '_tirpc.c', path.name, cwd=self.folder)
        spec = check.check(parse.parse(source.read(path)))
        made = output.Output(path.name, path.stem, spec, [], 'none') # which chooses the names in C
        (self.folder / 'weir_values.c').write_text(
            '#include "%s_xdr.h"\n' % path.stem + filler.Filler(spec, 'weir').write() +
            filler.weir_functions(spec, made.bounds), encoding='utf-8')
        (self.folder / 'tirpc_values.c').write_text(
            '#include "%s.h"\n#define CALL(filter, ...) ((bool_t(*)(XDR *, ...))filter)'
            '(__VA_ARGS__)\n' % path.stem + filler.Filler(spec, 'tirpc').write() +
            filler.tirpc_functions(spec), encoding='utf-8')
        flags = run('pkg-config', '--cflags', 'libtirpc').split()
        run(*CC, '-O1', '-g', '-std=gnu11', '-w', '-I', INCLUDE, '-I', HERE, '-isystem',
            self.folder, *flags, '-o', 'compare', HERE / 'compare.c', 'weir_values.c',
            'tirpc_values.c', path.stem + '_tirpc.c',
            *[code for code in codes if code.name.endswith('_xdr.c')], LIBRARY, NEEDS,
            '-ltirpc', cwd=self.folder)
        return run('./compare', cwd=self.folder)

    def test_bytes_are_those_of_libtirpc(self):
        if not shutil.which('rpcgen'):
            self.skipTest('rpcgen is not installed: apt-get install rpcsvc-proto')
        for path in FILES:
            with self.subTest(path.name):
                self.assertRegex(self.compare(path), r'^\d+ types, \d+ changed messages, [1-9]')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
