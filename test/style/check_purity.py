#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/proto is sans-IO: its archive needs nothing but what a compiler may call on its own.
Argument: the archive."""

import re
import subprocess
import sys

import tree

ALLOWED = re.compile(r'mem(cpy|set|cmp|move)|__mem(cpy|set|move)_chk|__stack_chk_fail|'
                     r'_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|tsan|sanitizer|gcov)_\w+')


def main():
    out = subprocess.run(['nm', sys.argv[1]], check=True, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    rows = [line.split() for line in out.splitlines() if line.strip() and not line.endswith(':')]
    undefined = {row[-1] for row in rows if row[-2] in ('U', 'w')}
    defined = {row[-1] for row in rows if row[-2] not in ('U', 'w')}
    findings = ['%s is called from lib/proto' % name for name in sorted(undefined - defined)
                if not ALLOWED.fullmatch(name)]
    if not defined:
        findings.append('%s defines nothing' % sys.argv[1])
    tree.finish(findings, 'Bytes and "now" come in, bytes and events go out: move the call to a '
                'layer above lib/proto.')


main()
