#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/quickstart in a tree that was moved with its build folder, which it detects and configures
again, and with packages that are missing. The tree has only quickstart and a small project, so that
little is compiled. Argument: the source tree."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.abspath(sys.argv.pop(1))


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.first, self.second = (os.path.join(folder.name, name) for name in ('first', 'second'))
        os.makedirs(os.path.join(self.first, 'tools'))
        shutil.copy(os.path.join(TREE, 'tools', 'quickstart'), os.path.join(self.first, 'tools'))
        with open(os.path.join(self.first, 'tools', 'packages.txt'), 'w', encoding='ascii'):
            pass
        with open(os.path.join(self.first, 'main.c'), 'w', encoding='ascii') as file:
            file.write('int main(void)\n{\n\treturn FLAG;\n}\n')
        with open(os.path.join(self.first, 'meson.build'), 'w', encoding='ascii') as file:
            file.write("project('small', 'c')\nexecutable('small', files('main.c'), c_args: "
                       "'-DFLAG=' + get_option('flag'))\n")
        with open(os.path.join(self.first, 'meson_options.txt'), 'w', encoding='ascii') as file:
            file.write("option('flag', type: 'string', value: '0')\n")

    def quickstart(self, tree, *arguments, **env):
        done = subprocess.run([os.path.join(tree, 'tools', 'quickstart'), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, timeout=120, check=False,
                              env=os.environ | env)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)
        return done.stderr


class Moved(Tree):
    def setup(self, tree):
        return self.quickstart(tree, 'setup')

    def check(self, tree, flag):
        self.assertEqual(subprocess.run([os.path.join(tree, 'build', 'small')],
                                        check=False).returncode, flag)

    def test_moved(self):
        subprocess.run(['meson', 'setup', '-Dflag=7', 'build'], cwd=self.first,
                       stdout=subprocess.DEVNULL, check=True)
        self.assertNotIn('another folder', self.setup(self.first))
        self.check(self.first, 7)
        os.rename(self.first, self.second)
        said = self.setup(self.second)
        self.assertIn(f'build/ was configured in another folder ({self.first}): configuring it '
                      'anew', said)
        self.check(self.second, 7)
        self.assertNotIn('another folder', self.setup(self.second))

    def test_copied(self):
        self.setup(self.first)
        shutil.copytree(self.first, self.second)
        with open(os.path.join(self.second, 'main.c'), 'w', encoding='ascii') as file:
            file.write('int main(void)\n{\n\treturn FLAG + 3;\n}\n')
        self.assertIn('another folder', self.setup(self.second))
        self.check(self.second, 3)
        self.check(self.first, 0)


class Packages(Tree):
    """The programs that ask for packages and install them are stand-ins."""

    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.first, 'bin')
        self.installed = os.path.join(self.first, 'installed')
        os.mkdir(self.bin)
        for name, text in (('dpkg-query', '[ "$4" = here ] && echo installed'),
                           ('apt-get', f'echo "$@" >>{self.installed}'),
                           ('systemctl', 'exit 1')):
            path = os.path.join(self.bin, name)
            with open(path, 'w', encoding='ascii') as file:
                file.write(f'#!/bin/sh\n{text}\n')
            os.chmod(path, 0o755)
        with open(os.path.join(self.first, 'tools', 'packages.txt'), 'w',
                  encoding='ascii') as file:
            file.write('here build why\nabsent build why\nother test why\n')

    @unittest.skipIf(os.geteuid() != 0, 'only root installs packages')
    def test_packages(self):
        path = f'{self.bin}:{os.environ["PATH"]}'
        self.assertIn('installing absent', self.quickstart(self.first, 'packages', PATH=path))
        with open(self.installed, encoding='ascii') as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertEqual(lines[1].split()[-1], 'absent')
        self.assertNotIn('other', lines[1])
        self.assertFalse(os.path.exists(os.path.join(self.first, 'build')))


if __name__ == '__main__':
    unittest.main()
