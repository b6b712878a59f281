#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each public header compiles alone, and twice, without a warning by gcc and clang, in
strict C11 and C17, and in C++11, C++14, C++17 and C++20. In C++, flags can be combined."""

import pathlib
import shutil
import subprocess

import tree

WARNINGS = ['-fsyntax-only', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion',
            '-Wsign-conversion', '-Wundef', '-Werror', '-Ilib/include']
C = [('c', 'c11'), ('c', 'c17')]
CPLUSPLUS = [('c++', 'c++11'), ('c++', 'c++14'), ('c++', 'c++17'), ('c++', 'c++20')]
COMPILERS = {'gcc': C, 'clang': C, 'g++': CPLUSPLUS, 'clang++': CPLUSPLUS}
FLAGS = 'test/style/flags.cc'


def compile_one(job):
    """Compiles a source. Returns a finding, or None."""
    compiler, language, standard, name, source = job
    done = subprocess.run([compiler, '-std=' + standard, *WARNINGS, '-x', language, '-'],
                          input=source, text=True, cwd=tree.ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return None
    return '%s: %s -std=%s\n%s' % (name, compiler, standard, done.stdout)


def main():
    headers = sorted(pathlib.Path(tree.ROOT, 'lib/include').glob('weir/*.h'))
    sources = [(path.name, '#include <weir/%s>\n' % path.name * 2) for path in headers]
    findings = ['%s is not installed' % name for name in COMPILERS if not shutil.which(name)]
    jobs = [(compiler, language, standard, name, source)
            for compiler, standards in COMPILERS.items() if shutil.which(compiler)
            for language, standard in standards
            for name, source in sources + [(FLAGS, tree.text(FLAGS))]
            if language == 'c++' or name != FLAGS]
    findings += [what for what in tree.at_once(compile_one, jobs) if what]
    tree.finish(findings, 'Public headers use no extension of a compiler, and no implicit '
                'conversion, which C++ does not have.')


main()
