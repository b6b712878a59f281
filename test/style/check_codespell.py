#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that no file contains a common misspelling. codespell.txt lists words that look like one
but are correct."""

import shutil
import subprocess
import sys

import tree

WORDS = 'test/style/codespell.txt'


def main():
    if not shutil.which('codespell'):
        print('codespell is not installed: apt-get install codespell')
        sys.exit(77)
    paths = [str(path) for path in tree.files() if 'corpus' not in path.parts]
    done = subprocess.run(['codespell', '--quiet-level=3', '--ignore-words', WORDS, *paths],
                          cwd=tree.ROOT, text=True, check=False, stdout=subprocess.PIPE)
    findings = done.stdout.splitlines()
    if done.returncode != 0 and not findings:
        findings = ['codespell failed with status %d' % done.returncode]
    tree.finish(findings, 'Correct the word, or add it to %s if it is right.' % WORDS)


main()
