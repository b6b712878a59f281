#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs outside the tree are linked with the installed libraries in each way that
doc/guide-linking.rst describes. Each program makes a call over shm and checks its result.
Arguments: meson and the build."""
import re
import shlex
import shutil
import sys
import unittest

from installed import SOURCE, Tree, needed, output_of, run

MESON, BUILD = sys.argv[1:]
EMBEDDER = SOURCE / 'test/tree/embedder.c'
HERE = SOURCE / 'test/install'
WARN = ['-Wall', '-Wextra', '-Werror']
COMPILERS = {
    'gcc': ['gcc', '-std=c11', '-D_DEFAULT_SOURCE', *WARN],
    'clang': ['clang', '-std=c11', '-D_DEFAULT_SOURCE', *WARN],
    # Designated initializers of C++20 leave out members, as those of C do.
    'g++': ['g++', '-x', 'c++', '-std=c++20', *WARN, '-Wno-missing-field-initializers'],
    'clang++': ['clang++', '-x', 'c++', '-std=c++20', *WARN, '-Wno-missing-field-initializers'],
}
DPDK = {'librte_cfgfile.so', 'librte_mempool.so', 'librte_ring.so', 'librte_eal.so',
        'librte_kvargs.so', 'librte_telemetry.so'}
STATIC_NEEDS = DPDK | {'libnuma.so', 'libsodium.so', 'libibverbs.so', 'librdmacm.so',
                       'libmlx5.so'}
SYSTEM = {'libc.so', 'libm.so', 'libstdc++.so', 'libgcc_s.so', 'ld-linux-x86-64.so',
          'ld-linux-aarch64.so'}


def without_version(names):
    return {re.sub(r'\.so\..*', '.so', name) for name in names}


def setUpModule():
    Outside.tree = Tree(MESON, BUILD)


def tearDownModule():
    Outside.tree.close()


class Outside(unittest.TestCase):
    tree = None # the installed tree, which the tests share
    programs = 0

    def calls(self, program):
        """Checks that a program makes its call."""
        status, text = run(program, env=self.tree.env)
        self.assertEqual((status, text.splitlines()[-1:]), (0, ['ok']), text)

    def build(self, compiler, flags, *sources, libs=()):
        """Returns the program. 'flags' and 'libs' are those of pkg-config."""
        Outside.programs += 1
        program = self.tree.scratch / f'program-{Outside.programs}'
        cflags = [flag for flag in flags if flag.startswith(('-I', '-D'))]
        libs = [*(flag for flag in flags if flag not in cflags), *libs]
        language = ['-x', 'none'] if '-x' in compiler else []
        output_of(*compiler, *cflags, *sources, *language, '-o', program, *libs)
        return program


class Link(Outside):
    def each_compiler(self, *arguments):
        flags = self.tree.flags('--cflags', '--libs', *arguments)
        for name, compiler in COMPILERS.items():
            with self.subTest(compiler=name):
                program = self.build(compiler, flags, EMBEDDER)
                self.calls(program)
                yield without_version(needed(program)) - SYSTEM

    def test_shared(self):
        for libraries in self.each_compiler('weir'):
            self.assertEqual(libraries, {'libweir.so'})

    def test_static(self):
        for libraries in self.each_compiler('weir-static'):
            self.assertEqual(libraries, STATIC_NEEDS)

    def test_the_option_static_changes_nothing(self):
        for package in 'weir', 'weir-static':
            self.assertEqual(self.tree.flags('--libs', '--static', package),
                             self.tree.flags('--libs', package))

    def test_static_names_only_what_it_needs(self):
        text = ' '.join(self.tree.flags('--libs', '--static', 'weir-static'))
        names = re.findall(r'(?<=[ ,])-l(\w+)', text)
        self.assertEqual({f'lib{name}.so' for name in names}, STATIC_NEEDS)

    def test_shared_does_not_name_dpdk(self):
        flags = self.tree.flags('--cflags', '--libs', '--static', 'weir')
        self.assertEqual(sorted(flag[:2] for flag in flags), ['-I', '-L', '-l'])
        self.assertIn('-lweir', flags)

    def test_names_of_the_program_do_not_clash(self):
        """A program may have functions with the names of internal functions of weir."""
        source = self.tree.scratch / 'names.c'
        names = {'mem_eal_start', 'shm_driver', 'xdr_put', 'conn_create', 'hex_name'}
        source.write_text(''.join(f'int {name}(void);\nint {name}(void)\n{{\n\treturn 1;\n}}\n'
                                  for name in sorted(names)), encoding='utf-8')
        flags = self.tree.flags('--cflags', '--libs', 'weir-static')
        self.calls(self.build(COMPILERS['gcc'], flags, EMBEDDER, source))

    def test_cmake(self):
        for names in ('gcc', 'g++'), ('clang', 'clang++'):
            with self.subTest(compilers=names):
                folder = self.tree.scratch / f'cmake-{names[0]}'
                shutil.copytree(HERE / 'cmake', folder)
                shutil.copy(EMBEDDER, folder / 'program.c')
                shutil.copy(EMBEDDER, folder / 'program.cc')
                output_of('cmake', '-S', folder, '-B', folder / 'build', '-G', 'Ninja',
                          f'-DCMAKE_PREFIX_PATH={self.tree.prefix}',
                          f'-DCMAKE_C_COMPILER={names[0]}', f'-DCMAKE_CXX_COMPILER={names[1]}')
                output_of('cmake', '--build', folder / 'build')
                for language in 'c', 'cc':
                    for library in 'shared', 'static':
                        program = folder / 'build' / f'{language}-{library}'
                        self.assertEqual('libweir.so' in without_version(needed(program)),
                                         library == 'shared')
                        self.calls(program)


class OwnEal(Outside):
    """A program that has started EAL itself, as an application of SPDK does."""

    def own_eal(self, libs):
        compiler = COMPILERS['gcc']
        part = self.tree.scratch / 'part.o'
        main = self.tree.scratch / 'own_eal.o'
        output_of(*compiler, '-Dmain=embedder_main', *self.tree.flags('--cflags', 'weir'), '-c',
                  EMBEDDER, '-o', part)
        output_of(*compiler, *shlex.split(output_of('pkg-config', '--cflags', 'libdpdk')), '-c',
                  HERE / 'own_eal.c', '-o', main)
        return self.build(['gcc'], [], main, part, libs=libs)

    def test_shared(self):
        program = self.own_eal(self.tree.flags('--libs', 'weir', 'libdpdk'))
        self.calls(program)

    def test_static(self):
        program = self.own_eal(self.tree.flags('--libs', 'weir-static', 'libdpdk'))
        self.calls(program)

    def test_static_with_static_dpdk(self):
        program = self.own_eal(self.tree.flags('--libs', '--static', 'libdpdk', 'weir-static'))
        self.assertEqual({name for name in needed(program) if name.startswith('librte')}, set())
        self.calls(program)

    def ends_with_advice(self, libs):
        status, text = run(self.own_eal(libs), env=self.tree.env)
        self.assertNotEqual(status, 0)
        self.assertIn('weir: DPDK is in this process twice: ', text.splitlines()[0])
        self.assertIn('Link libweir.a instead', text.splitlines()[0])

    def test_shared_with_static_dpdk_says_what_to_do(self):
        self.ends_with_advice(self.tree.flags('--libs', '--static', 'libdpdk', 'weir'))

    def test_wrong_order_says_what_to_do(self):
        self.ends_with_advice(self.tree.flags('--libs', '--static', 'weir-static', 'libdpdk'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
