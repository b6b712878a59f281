#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a static library with one object from several archives. The library exports only symbols
that begin with weir_, so that a program may use any other name itself.

Arguments: the library to make, the compiler with its options, "--", the archives."""

import pathlib
import subprocess
import sys


def tool(compiler, name):
    """Returns the program of binutils that belongs to the compiler, also if that is a cross one."""
    return subprocess.run([*compiler, '-print-prog-name=' + name], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def main():
    output = pathlib.Path(sys.argv[1])
    end = sys.argv.index('--')
    command, archives = sys.argv[2:end], sys.argv[end + 1:]
    compiler = [word for word in command if not word.startswith('-')]
    joined = output.with_suffix('.o')
    subprocess.run([*command, '-r', '-nostdlib', '-o', joined, '-Wl,--whole-archive', *archives,
                    '-Wl,--no-whole-archive'], check=True)
    subprocess.run([tool(compiler, 'objcopy'), '--wildcard', '--localize-hidden',
                    '--keep-global-symbol=weir_*', joined], check=True)
    output.unlink(missing_ok=True)
    # D: the archive has neither times nor users, so that two builds give the same bytes.
    subprocess.run([tool(compiler, 'ar'), 'rcsD', output, joined], check=True)


main()
