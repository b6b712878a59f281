#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""clang-format has nothing to change."""

import shutil
import subprocess
import sys

import tree


def main():
    if not shutil.which('clang-format'):
        print('clang-format is not installed: apt-get install clang-format')
        sys.exit(77)
    findings = []
    for path in tree.files('.c', '.h'):
        done = subprocess.run(['clang-format', '--dry-run', '-Werror', str(path)], cwd=tree.ROOT,
                              text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode != 0:
            findings.append(done.stderr.splitlines()[0])
    tree.finish(findings, 'Run: clang-format -i FILE')


main()
