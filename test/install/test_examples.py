#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples are built from outside the tree, with the installed libraries, and run. Arguments:
meson and the build."""
import os
import shutil
import sys
import unittest

from examples import Scenarios
from installed import Tree, output_of

MESON, BUILD = sys.argv[1:]
SOURCE_LINES = 200 # a file of an example has fewer


def setUpModule():
    tree = Examples.tree = Tree(MESON, BUILD)
    Examples.env = tree.env
    share = next((tree.prefix / 'share/weir').glob('examples'))
    env = {**tree.env, 'PATH': f'{tree.prefix / "bin"}:{os.environ["PATH"]}',
           'CFLAGS': '-O1 -g -Werror -std=gnu11'}
    shared, static = tree.scratch / 'weir', tree.scratch / 'weir-static'
    shutil.copytree(share, shared)
    output_of('make', '-C', shared, env=env)
    # Both packages compile in the same way. Only the programs are linked again.
    shutil.copytree(shared, static)
    for path in static.glob('*.o'):
        (static / path.stem).unlink(missing_ok=True)
    output_of('make', '-C', static, 'PACKAGE=weir-static', env=env)


def tearDownModule():
    Examples.tree.close()


class Examples(Scenarios, unittest.TestCase):
    packages = 'weir', 'weir-static'
    tree = None # the installed tree, which the tests share

    def path(self, example, package):
        return self.tree.scratch / package / example

    def test_suppressions_are_installed(self):
        path = self.tree.prefix / 'share/weir/tsan.supp'
        self.assertIn('\ncalled_from_lib:librte_eal.so\n', path.read_text(encoding='utf-8'))

    def test_files_are_short(self):
        for path in self.path('.', 'weir').iterdir():
            if path.suffix in ('.c', '.h', '.x') and '_rpc.' not in path.name and \
                    '_xdr.' not in path.name:
                lines = len(path.read_text(encoding='utf-8').splitlines())
                self.assertLess(lines, SOURCE_LINES, path.name)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
