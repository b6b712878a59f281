#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs run with an earlier and with a later version of the library, in which structures have
fewer or more members. The later version is made by appending a member to each structure that can
grow. The earlier one is the first release, whose headers are in headers-1. Arguments: the folder of
the build, the shared library, and the C compiler."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import grow

BUILD, LIBRARY, *CC = sys.argv[1:]
BUILD = pathlib.Path(BUILD)
LIBRARY = BUILD / LIBRARY
SOURCE = pathlib.Path(__file__).resolve().parents[2]
FIRST = SOURCE / 'test/abi/headers-1'
FUNCTION = re.compile(r'^WEIR_API\s[^;(]*?\b(weir_\w+)\(', re.M)
# Only the layout of structures matters, so that code is not optimized.
PLAIN = ['-O0', '-g0', '-fno-lto', '-U_FORTIFY_SOURCE', '-Wno-error']


def run(args, **more):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, stdin=subprocess.DEVNULL, **more)
    assert done.returncode == 0, f'{args}\n{done.stdout}'
    return done.stdout


def objects_of_library():
    """Returns the commands that compile the objects of the library's archives."""
    commands = json.loads((BUILD / 'compile_commands.json').read_text(encoding='utf-8'))
    return [command for command in commands
            if pathlib.Path(command['file']).parts[1] in ('lib', 'drivers')
            and '.a.p/' in command['output']]


def link_arguments():
    """Returns the arguments that link the shared library, without its archives."""
    lines = (BUILD / 'build.ninja').read_text(encoding='utf-8').splitlines()
    first = next(i for i, line in enumerate(lines)
                 if line.startswith(f'build {LIBRARY.relative_to(BUILD)}:'))
    arguments = next(line for line in lines[first:] if line.startswith(' LINK_ARGS = '))
    return [word for word in shlex.split(arguments[len(' LINK_ARGS = '):])
            if not word.endswith('.a') and 'whole-archive' not in word]


class Growth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The folder has the same name each time, so that ccache knows the objects.
        cls.root = BUILD / 'test/abi/growth'
        shutil.rmtree(cls.root, ignore_errors=True)
        cls.root.mkdir(parents=True)
        cls.later = cls.root / 'include'
        shutil.copytree(SOURCE / 'lib/include', cls.later)
        for name in grow.growing(cls.later):
            grow.append(cls.later, name, 'uint64_t grown')

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def compile_object(self, numbered):
        number, command = numbered
        output = self.root / f'{number}.o'
        words = shlex.split(command['command'])
        words[words.index('-o') + 1] = str(output)
        included = words.index('-I' + os.path.relpath(SOURCE / 'lib/include', BUILD))
        words[included] = f'-I{self.later}'
        for option in ('-MQ', '-MF'):
            words[words.index(option) + 1] = str(self.root / f'{number}.d')
        run(words + PLAIN, cwd=BUILD)
        return output

    def make_later_library(self):
        """Returns a folder with a library that was built with the later headers."""
        folder = self.root / 'later'
        folder.mkdir()
        commands = objects_of_library()
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            objects = list(pool.map(self.compile_object, enumerate(commands)))
        run([*CC, *objects, *link_arguments(), '-fno-lto', '-o', folder / LIBRARY.name], cwd=BUILD)
        return folder

    def run_program(self, headers, library, *options, source=SOURCE / 'test/abi/program.c'):
        """Builds a program with the headers, and runs it with the library of the folder."""
        program = self.root / 'program'
        run([*CC, '-std=gnu11', '-g', '-Wall', '-Wextra', '-Werror', *options, '-I', headers,
             source, LIBRARY, '-o', program])
        soname = '.'.join(LIBRARY.name.split('.')[:3])
        if not (library / soname).exists():
            (library / soname).symlink_to(LIBRARY.name)
        return run([program], env={**os.environ, 'LD_LIBRARY_PATH': str(library)}, timeout=100)

    def test_each_structure_has_a_kind(self):
        headers = SOURCE / 'lib/include'
        self.assertEqual(grow.structures_of(headers), set(grow.kinds_of(headers)),
                         'weir/common.h lists the kind of each structure')

    def test_a_program_runs_with_a_later_library(self):
        self.assertIn('all is well',
                      self.run_program(SOURCE / 'lib/include', self.make_later_library()))

    def test_a_program_with_later_headers_runs_with_this_library(self):
        self.assertIn('all is well', self.run_program(self.later, LIBRARY.parent, '-DGROWN'))

    def test_a_program_with_the_first_headers_runs_with_this_library(self):
        self.assertIn('all is well', self.run_program(FIRST, LIBRARY.parent))

    def test_this_library_has_the_functions_of_the_first_headers(self):
        names = sorted({name for path in FIRST.glob('weir/*.h')
                        for name in FUNCTION.findall(path.read_text(encoding='utf-8'))})
        self.assertGreater(len(names), 100)
        source = self.root / 'functions.c'
        source.write_text('#include <stdio.h>\n#include <weir/weir.h>\n'
                          'static void (*const functions[])(void) = {\n' +
                          ''.join('\t(void (*)(void))%s,\n' % name for name in names) +
                          '};\nint main(void)\n{\n'
                          '\tfor (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)'
                          '\n\t\tif (!functions[i])\n\t\t\treturn 1;\n'
                          '\treturn puts("all are there") < 0;\n}\n', encoding='utf-8')
        self.assertIn('all are there', self.run_program(
            FIRST, LIBRARY.parent, '-Wno-cast-function-type', '-Wno-address', source=source))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
