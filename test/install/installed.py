# SPDX-License-Identifier: BSD-3-Clause
"""Installs a build in a scratch folder, for tests that use it from outside the tree."""
import os
import pathlib
import shlex
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def run(*args, env=None, cwd=None, timeout=100):
    """Returns the exit status of a command, and what it printed."""
    done = subprocess.run([str(arg) for arg in args], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL, cwd=cwd,
                          env={**os.environ, 'LC_ALL': 'C', **(env or {})})
    return done.returncode, done.stdout


def output_of(*args, **options):
    """Returns what a command printed, if it succeeded."""
    status, text = run(*args, **options)
    if status != 0:
        raise AssertionError(f'{shlex.join(str(arg) for arg in args)}:\n{text}')
    return text


class Tree:
    """An installed tree. It is installed with one prefix and used with another one."""

    def __init__(self, meson, build):
        self._folder = tempfile.TemporaryDirectory()
        self.scratch = pathlib.Path(self._folder.name)
        root = self.scratch / 'root'
        output_of(*shlex.split(meson), 'install', '-C', build, '--no-rebuild', '--quiet',
                  '--destdir', root)
        library = next(root.rglob('libweir.so'))
        self.libs = library.parent
        self.prefix = next(root.rglob('include/weir')).parents[1]
        self.env = {'PKG_CONFIG_PATH': str(self.libs / 'pkgconfig'),
                    'LD_LIBRARY_PATH': str(self.libs)}

    def close(self):
        self._folder.cleanup()

    def flags(self, *arguments):
        return shlex.split(output_of('pkg-config', *arguments, env=self.env))


def needed(program):
    """Returns the shared libraries that a program names."""
    lines = output_of('readelf', '-d', program).splitlines()
    return {line.split('[')[1].rstrip(']') for line in lines if '(NEEDED)' in line}
