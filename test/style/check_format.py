#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that clang-format would change nothing."""

import re
import shutil
import subprocess
import sys

import tree

BATCH = 32
FINDING = re.compile(r'([^:\n]+):\d+:\d+: ')


def check(paths):
    """Returns the first finding of each file. One process checks several files."""
    done = subprocess.run(['clang-format', '--dry-run', '-Werror', *map(str, paths)],
                          cwd=tree.ROOT, text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    first = {}
    for line in done.stderr.splitlines():
        match = FINDING.match(line)
        if match:
            first.setdefault(match.group(1), line)
    if done.returncode != 0 and not first:
        return [done.stderr]
    return list(first.values())


def main():
    if not shutil.which('clang-format'):
        print('clang-format is not installed: apt-get install clang-format')
        sys.exit(77)
    paths = tree.files('.c', '.h')
    batches = [paths[at:at + BATCH] for at in range(0, len(paths), BATCH)]
    findings = [what for found in tree.at_once(check, batches) for what in found]
    tree.finish(findings, 'Run: clang-format -i FILE')


main()
