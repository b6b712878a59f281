#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The ABI of the public headers is that of the stored description, and changes of the ABI are
found. Arguments: the symbol map, and the C compiler."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

import describe
import grow

SYMBOLS, *CC = sys.argv[1:]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
HEADERS = SOURCE / 'lib/include'
FIRST = SOURCE / 'test/abi/headers-1'
STORED = SOURCE / 'test/abi/libweir.so.1.abi'
UPDATE = shlex.join(['python3', 'test/abi/describe.py', 'lib/include', 'lib/link/weir.map',
                     str(STORED.relative_to(SOURCE)), *CC])

# Macros that a new version changes.
VERSION = re.compile(r'WEIR_VERSION(_(MAJOR|MINOR|PATCH|STRING))?$')

# Bits of abidiff's status. Other bits say that the descriptions differ.
ERROR, USAGE = 1, 2


def cut(before, after, names, output):
    """Writes the description 'after' without what its structures have in addition to those of the
    description 'before'. So an earlier program sees structures that have grown."""
    sizes = {node.get('name'): int(node.get('size-in-bits'))
             for node in ElementTree.parse(before).iter('class-decl') if node.get('size-in-bits')}
    tree = ElementTree.parse(after)
    for node in tree.iter('class-decl'):
        size = sizes.get(node.get('name'))
        if node.get('name') not in names or not size or not node.get('size-in-bits'):
            continue
        if int(node.get('size-in-bits')) > size:
            node.set('size-in-bits', str(size))
            for member in node.findall('data-member'):
                if int(member.get('layout-offset-in-bits')) >= size:
                    node.remove(member)
    tree.write(output)


class Comparison:
    """The result of abidiff for two descriptions."""

    def __init__(self, before, after, headers):
        with tempfile.NamedTemporaryFile(suffix='.abi') as seen:
            cut(before, after, grow.growing(headers), seen.name)
            status, self.incompatible = self.compare(['--no-added-syms'], before, seen.name)
        self.is_compatible = status == 0
        status, self.any = self.compare(['--harmless'], before, after)
        self.is_equal = status == 0 and not self.any.strip()

    @staticmethod
    def compare(options, before, after):
        done = subprocess.run(['abidiff', *options, before, after], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert not done.returncode & (ERROR | USAGE), done.stdout
        return done.returncode, done.stdout


def macros_of(headers):
    """Returns the definitions of the macros of the headers that must not change, by name."""
    done = subprocess.run([*CC, '-dM', '-E', '-I', headers, '-include', 'weir/weir.h', '-x', 'c',
                           '/dev/null'], check=True, text=True, stdout=subprocess.PIPE)
    macros = dict(re.findall(r'^#define (WEIR_\w+(?:\([^)]*\))?) (.+)$', done.stdout, re.M))
    return {name: text for name, text in macros.items() if not VERSION.match(name)}


class Macros(unittest.TestCase):
    def test_keep_the_values_of_the_first_release(self):
        first, present = macros_of(FIRST), macros_of(HEADERS)
        self.assertGreater(len(first), 20)
        self.assertEqual(first, {name: present.get(name) for name in first},
                         'Programs contain the values of the headers that they were built with.')

    def test_change_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            headers = pathlib.Path(folder, 'include')
            shutil.copytree(HEADERS, headers)
            grow.edit(headers, r'^#define WEIR_PAGES_THP 1u$', '#define WEIR_PAGES_THP 2u')
            self.assertNotEqual(macros_of(headers), macros_of(HEADERS))


class Abi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.present = cls.root / 'present.abi'
        describe.describe(HEADERS, SYMBOLS, cls.present, CC)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def compare_edited(self, *edits, symbols=lambda text: text):
        """Compares the present ABI with that of edited headers, and of an edited map."""
        with tempfile.TemporaryDirectory(dir=self.root) as folder:
            headers = pathlib.Path(folder, 'include')
            shutil.copytree(HEADERS, headers)
            for pattern, change in edits:
                grow.edit(headers, pattern, change)
            edited = pathlib.Path(folder, 'weir.map')
            text = pathlib.Path(SYMBOLS).read_text(encoding='utf-8')
            edited.write_text(symbols(text), encoding='utf-8')
            describe.describe(headers, edited, pathlib.Path(folder, 'abi'), CC)
            return Comparison(self.present, pathlib.Path(folder, 'abi'), HEADERS)

    def expect_incompatible(self, *edits, **more):
        comparison = self.compare_edited(*edits, **more)
        self.assertFalse(comparison.is_compatible, comparison.any)

    def expect_compatible(self, *edits, **more):
        comparison = self.compare_edited(*edits, **more)
        self.assertTrue(comparison.is_compatible, comparison.incompatible)
        self.assertFalse(comparison.is_equal)

    def test_is_that_of_the_description(self):
        found = Comparison(STORED, self.present, HEADERS)
        self.assertTrue(found.is_compatible,
                        f'\n{found.incompatible}\nPrograms that were built with an earlier version '
                        'cannot run with this one: change it, or begin a new major version '
                        '(doc/abi.rst).')
        self.assertTrue(found.is_equal,
                        f'\n{found.any}\nThis change is compatible, and {STORED.name} lacks it. To '
                        f'record it:\n    {UPDATE}')

    def test_equal_headers_are_equal(self):
        comparison = self.compare_edited()
        self.assertTrue(comparison.is_equal and comparison.is_compatible, comparison.any)

    def test_member_at_the_end_of_a_structure_that_can_grow(self):
        for name in grow.growing(HEADERS):
            with self.subTest(name):
                self.expect_compatible((grow.STRUCTURE % name,
                                        lambda match: match.group() + '\tuint64_t grown;\n'))

    def test_member_at_the_end_of_a_structure_that_never_changes(self):
        self.expect_incompatible((grow.STRUCTURE % 'weir_xdr_in',
                                  lambda match: match.group() + '\tuint64_t grown;\n'))

    def test_member_inside_of_a_structure(self):
        self.expect_incompatible((r'^struct weir_call_params \{\n',
                                  r'\g<0>\tuint64_t inserted;\n'))

    def test_type_of_a_member(self):
        self.expect_incompatible((r'^\tuint32_t poll_budget;', '\tuint64_t poll_budget;'))

    def test_removed_member(self):
        for member in ('uint32_t mappings_peer', 'uint32_t windows'):
            with self.subTest(member):
                self.expect_incompatible((r'^\t%s;.*\n' % member, ''))

    def test_parameter_of_a_function(self):
        self.expect_incompatible((r'(void weir_conn_close\(struct weir_conn \*conn)\)',
                                  r'\1, int how)'))

    def test_result_of_a_function(self):
        self.expect_incompatible((r'bool weir_conn_is_open\(', 'long weir_conn_is_open('))

    def test_value_of_an_enumerator(self):
        self.expect_incompatible((r'WEIR_CONN_OPEN,', 'WEIR_CONN_OPEN = 7,'))

    def test_new_enumerator(self):
        self.expect_compatible((r'^\tWEIR_CONN_LOST,', '\tWEIR_CONN_LOST, WEIR_CONN_NEW,'))

    def test_removed_function(self):
        self.expect_incompatible((r'^WEIR_API void \*weir_conn_user\(.*?;', ''))

    def test_new_function(self):
        self.expect_compatible((r'^WEIR_API void weir_conn_close\(',
                                r'WEIR_API void weir_conn_new(void);\n\g<0>'),
                               symbols=lambda text: text + 'WEIR_1.1 {\n\tglobal:\n\t\t'
                               'weir_conn_new;\n} WEIR_1.0;\n')

    def test_version_of_a_function(self):
        self.expect_incompatible(symbols=lambda text: text.replace('\t\tweir_conn_user;\n', '') +
                                 'WEIR_1.1 {\n\tglobal:\n\t\tweir_conn_user;\n} WEIR_1.0;\n')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
