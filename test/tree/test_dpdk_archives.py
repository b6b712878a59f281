#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/deps: which DPDK a small program is linked with if there is another one than the system's,
and whether it is linked with the archives of that one."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(sys.argv.pop(1))
PROJECT = """project('small', 'c')
cc = meson.get_compiler('c')
with_mlx5 = false
subdir('deps')
executable('small', 'small.c', dependencies: dep_dpdk_program)
"""
VERSION = '99.11.0' # of a future DPDK


def variable(name):
    return pathlib.Path(subprocess.run(['pkg-config', '--variable', name, 'libdpdk'], check=True,
                                       text=True, stdout=subprocess.PIPE).stdout.strip())


@unittest.skipUnless((variable('libdir') / 'librte_eal.a').exists(),
                     'DPDK is installed without archives')
class Archives(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)
        self.libs = self.dir / 'dpdk' / 'lib'
        self.libs.mkdir(parents=True)
        shutil.copytree(TOOLS / 'deps', self.dir / 'deps')
        (self.dir / 'meson.build').write_text(PROJECT)
        (self.dir / 'small.c').write_text('int main(void)\n{\n\treturn 0;\n}\n')

    def other(self, pattern):
        """Makes another DPDK: the system's headers, and the given ones of its libraries."""
        includes, system = variable('includedir'), variable('libdir')
        for path in variable('pcfiledir').glob('libdpdk*.pc'):
            text = path.read_text(encoding='utf-8')
            for key, value in (('prefix=', self.libs.parent), ('libdir=', self.libs),
                               ('includedir=', includes), ('Version: ', VERSION)):
                text = re.sub(f'^{key}.*', f'{key}{value}', text, flags=re.M)
            (self.libs / path.name).write_text(text)
        for path in system.glob(pattern):
            (self.libs / path.name).symlink_to(path)

    def linked(self):
        """Returns the DPDK libraries that the program is linked with, and their folders."""
        build = self.dir / 'build'
        done = subprocess.run(['meson', 'setup', f'-Dpkg_config_path={self.libs}', build, self.dir],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout)
        args = re.search(r'^ LINK_ARGS = (.*-.*)$',
                         (build / 'build.ninja').read_text(encoding='utf-8'), re.M).group(1)
        paths = [pathlib.Path(path)
                 for path in re.findall(r'(?<= )/\S*/librte_\w+\.(?:a|so)\b', args)]
        done = subprocess.run(['ninja', '-C', build], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout)
        return {path.name for path in paths}, {path.parent.resolve() for path in paths}

    def test_the_systems_own(self):
        names, folders = self.linked()
        self.assertIn('librte_eal.a', names)
        self.assertEqual(folders, {variable('libdir').resolve()})

    def test_another_ones_are_its_own(self):
        self.other('librte_*.*')
        names, folders = self.linked()
        self.assertIn('librte_eal.a', names)
        self.assertEqual(folders, {self.libs.resolve()})

    def test_of_one_without_archives_the_systems_are_not_taken(self):
        self.other('librte_*.so')
        names, folders = self.linked()
        self.assertIn('librte_eal.so', names)
        self.assertEqual(folders, {self.libs.resolve()})

    def test_archives_that_need_others_are_not_taken(self):
        self.other('librte_*.*')
        (self.libs / 'librte_kvargs.a').unlink()
        # The content of the archive is elsewhere.
        subprocess.run(['ar', 'rc', self.libs / 'librte_kvargs.a'], check=True)
        names, folders = self.linked()
        self.assertIn('librte_eal.so', names)
        self.assertNotIn('librte_eal.a', names)
        self.assertEqual(folders, {self.libs.resolve()})


if __name__ == '__main__':
    unittest.main()
