#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The installed files suffice for an embedder: headers, both libraries, and pkg-config files."""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

MESON, BUILD, *CC = sys.argv[1:]
SOURCE = pathlib.Path(__file__).resolve().parents[2]


def run(*args, env=None):
    done = subprocess.run([*args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=100, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})})
    return done.returncode, done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        status, text = run(*shlex.split(MESON), 'install', '-C', BUILD, '--no-rebuild', '--quiet',
                           env={'DESTDIR': str(cls.root)})
        assert status == 0, text
        cls.pc = {path.stem: path for path in cls.root.rglob('*.pc')}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def flags(self, name, *what):
        status, text = run('pkg-config', *what, name,
                           env={'PKG_CONFIG_PATH': str(self.pc[name].parent)})
        self.assertEqual(status, 0, text)
        return shlex.split(text)

    def test_all_public_headers_are_there_and_no_others(self):
        """The examples have headers of their own, which the compiler does not find by itself."""
        installed = sorted(path.relative_to(path.parents[1]) for path in self.root.rglob('*.h')
                           if path.parent.name != 'examples')
        self.assertEqual(installed, sorted(path.relative_to(SOURCE / 'lib/include')
                                           for path in (SOURCE / 'lib/include').rglob('*.h')))

    def test_dissector_is_there(self):
        self.assertEqual([path.relative_to(self.root).parts[-3:]
                          for path in self.root.rglob('*.lua')],
                         [('weir', 'wireshark', 'rpcrdma2.lua')])

    def embed(self, name):
        program = self.root / f'embedder-{name}'
        status, text = run(*CC, '-std=gnu11', '-Wall', '-Wextra', '-Werror',
                           str(SOURCE / 'test/tree/embedder.c'), '-o', str(program),
                           *self.flags(name, '--cflags', '--libs'))
        self.assertEqual(status, 0, text)
        library = next(self.root.rglob('libweir.so')).parent
        needs = run('ldd', str(program), env={'LD_LIBRARY_PATH': str(library)})[1]
        self.assertEqual('libweir.so' in needs, name == 'weir', needs)
        status, text = run(str(program), env={'LD_LIBRARY_PATH': str(library)})
        self.assertEqual((status, text.splitlines()[-1:]), (0, ['ok']), text)

    def test_cpp_sees_functions_of_c(self):
        """A C++ program includes all headers and calls the library. Debian's clang compiles it
        without further packages."""
        source = self.root / 'embedder.cc'
        names = sorted(path.name for path in (SOURCE / 'lib/include/weir').glob('*.h'))
        source.write_text(''.join(f'#include <weir/{name}>\n' for name in names) + 'int main()\n{\n'
                          '\tstruct weir_xdr_in in;\n\tweir_xdr_in_init(&in, "", 0);\n'
                          '\treturn weir_profile_lcores("0", nullptr, 0) < 0 && '
                          'weir_xdr_remaining(&in) == 0 ? 0 : 1;\n}\n', encoding='utf-8')
        program = self.root / 'embedder-cpp'
        status, text = run('clang', '-x', 'c++', '-std=c++17', '-Wall', '-Wextra', '-Werror',
                           str(source), '-o', str(program),
                           *self.flags('weir', '--cflags', '--libs'))
        self.assertEqual(status, 0, text)
        library = next(self.root.rglob('libweir.so')).parent
        self.assertEqual(run(str(program), env={'LD_LIBRARY_PATH': str(library)}), (0, ''))

    def test_a_program_embeds_the_shared_library(self):
        self.embed('weir')

    def test_a_program_embeds_the_static_library(self):
        self.embed('weir-static')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
