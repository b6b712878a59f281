#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that each program that is installed has a manual page, with each option of its --help and
no others. Arguments: the folder of the build, and the program that builds the pages."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, BUILD_DOC = map(pathlib.Path, sys.argv[1:3])
SKIPPED = 77
OPTION = re.compile(r'(?<![\w-])--?[a-zA-Z][\w-]*')


def installed():
    """Returns the path to which each file of the build is installed."""
    text = (BUILD / 'meson-info' / 'intro-installed.json').read_text(encoding='utf-8')
    return {pathlib.Path(path): pathlib.Path(place) for path, place in json.loads(text).items()}


def programs():
    return [path for path, place in installed().items() if place.parent.name in ('bin', 'sbin')]


def text_of(page):
    """Returns the text of the page, without the requests and the escapes of roff."""
    lines = page.read_text(encoding='utf-8').replace('\\-', '-').splitlines()
    return re.sub(r'\\f[BIPR]', '', '\n'.join(re.sub(r'^\.\w+ ?', '', line) for line in lines))


def options_of(page):
    """Returns the options that have an entry of their own."""
    lines = page.read_text(encoding='utf-8').replace('\\-', '-').splitlines()
    heads = [lines[i + 1] for i, line in enumerate(lines[:-1]) if line == '.TP']
    heads = [head for head in heads if head.startswith('.B -')]
    return {option for head in heads for option in OPTION.findall(head)}


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        out = pathlib.Path(cls.folder.name)
        status = subprocess.run([BUILD_DOC, '--man', out], check=False).returncode
        if status == SKIPPED:
            sys.exit(SKIPPED)
        assert status == 0
        cls.pages = {path.stem: path for path in out.glob('*.[158]')}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_each_program_has_a_page(self):
        self.assertTrue(programs())
        self.assertEqual({path.name for path in programs()} - set(self.pages), set())

    def test_each_page_is_installed_in_its_section(self):
        places = {place.name: place.parent.name for place in installed().values()}
        for page in self.pages.values():
            self.assertEqual(places.get(page.name), 'man' + page.suffix[1:], page.name)

    def test_page_has_the_options_of_the_program(self):
        for program in programs():
            shown = subprocess.run([program, '--help'], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
            page = self.pages[program.name]
            options, known = set(OPTION.findall(shown)), set(OPTION.findall(text_of(page)))
            self.assertTrue(options)
            self.assertEqual(options - known, set(), page.name)
            self.assertEqual(options_of(page) - options, set(), page.name)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
