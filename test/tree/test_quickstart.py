#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/quickstart in a tree that was moved with its build folder, which it detects and configures
again, with packages that are missing, and with hugepages. The tree has only quickstart and a small
project, so that little is compiled. Argument: the source tree."""
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
    """A stand-in says which packages are installed. Without root, nothing is."""

    def setUp(self):
        super().setUp()
        folder = os.path.join(self.first, 'bin')
        os.mkdir(folder)
        self.path = f'{folder}:{os.environ["PATH"]}'
        with open(os.path.join(folder, 'dpkg-query'), 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\n[ "$4" != absent ] && echo installed\n')
        os.chmod(file.name, 0o755)
        os.chmod(os.path.dirname(self.first), 0o755)

    def list(self, *lines):
        with open(os.path.join(self.first, 'tools', 'packages.txt'), 'w',
                  encoding='ascii') as file:
            file.writelines(line + '\n' for line in lines)

    def test_nothing_is_missing(self):
        self.list('here build why', 'absent test why')
        self.assertEqual(self.quickstart(self.first, 'packages', PATH=self.path), '')
        self.assertFalse(os.path.exists(os.path.join(self.first, 'build')))

    def test_missing_without_root(self):
        self.list('here build why', 'absent build why')
        other = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        done = subprocess.run([*(other if os.geteuid() == 0 else []),
                               os.path.join(self.first, 'tools', 'quickstart'), 'packages'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120, check=False, env=os.environ | {'PATH': self.path})
        self.assertEqual((done.returncode, done.stdout), (1, ''), done.stderr)
        self.assertRegex(done.stderr, 'as root, run: apt-get .* absent\n$')
        self.assertFalse(os.path.exists(os.path.join(self.first, 'build')))


class Hugepages(Tree):
    """A stand-in of hugeadm, and a file in place of the kernel's."""

    def setUp(self):
        super().setUp()
        self.quickstart(self.first, 'setup')
        folder = os.path.join(self.first, 'build', 'bench', 'weir-bench')
        os.makedirs(folder)
        self.write(os.path.join(folder, 'weir-bench'), '#!/bin/sh\n')
        self.nr = os.path.join(self.first, 'nr_hugepages')
        self.write(self.nr, '0\n')
        meminfo = os.path.join(self.first, 'meminfo')
        self.write(meminfo, 'MemAvailable: 4194304 kB\n')
        script = os.path.join(self.first, 'tools', 'quickstart')
        with open(script, encoding='utf-8') as file:
            text = file.read()
        self.write(script, text.replace('/proc/sys/vm/nr_hugepages', self.nr)
                   .replace('/proc/meminfo', meminfo)
                   .replace('[[ $EUID -eq 0 && -w $nr', '[[ -w $nr'))
        self.log = os.path.join(self.first, 'log')

    def write(self, path, text):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)

    def bench(self, hugeadm):
        folder = os.path.join(self.first, 'bin')
        os.mkdir(folder)
        self.write(os.path.join(folder, 'hugeadm'),
                   f'#!/bin/sh\necho "$@" >>{self.log}\n{hugeadm}\n')
        said = self.quickstart(self.first, 'bench', PATH=f'{folder}:{os.environ["PATH"]}')
        with open(self.log, encoding='ascii') as file:
            self.assertEqual(file.read(), '--pool-pages-min 2MB:128\n')
        with open(self.nr, encoding='ascii') as file:
            return said, file.read()

    def test_hugeadm_reserves_them(self):
        said, number = self.bench(f'echo 100 >{self.nr}')
        self.assertEqual(number, '100\n')
        self.assertIn('set aside 100 hugepages', said)

    def test_the_file_is_used_if_hugeadm_fails(self):
        said, number = self.bench('exit 1')
        self.assertEqual(number, '128\n')
        self.assertIn('set aside 128 hugepages', said)


if __name__ == '__main__':
    unittest.main()
