#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that lib/base and lib/proto perform no I/O: their archives need only functions that a
compiler may call on its own, and functions of the archives before them. Arguments: the archives, in
the order of the libraries."""

import os
import re
import subprocess
import sys

import tree

ALLOWED = re.compile(r'mem(cpy|set|cmp|move)|__mem(cpy|set|move)_chk|__stack_chk_fail|'
                     r'__popcount[sdt]i2|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|tsan|sanitizer|gcov)_\w+')


def symbols(archive):
    """Returns the names that an archive defines, and those that it needs."""
    out = subprocess.run(['nm', archive], check=True, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    rows = [line.split() for line in out.splitlines() if line.strip() and not line.endswith(':')]
    return ({row[-1] for row in rows if row[-2] not in ('U', 'w')},
            {row[-1] for row in rows if row[-2] in ('U', 'w')})


def main():
    known = set()
    findings = []
    for archive in sys.argv[1:]:
        name = 'lib/' + re.fullmatch(r'libweir_(\w+)\.a', os.path.basename(archive)).group(1)
        defined, undefined = symbols(archive)
        known |= defined
        findings += ['%s is called from %s' % (symbol, name) for symbol in sorted(undefined - known)
                     if not ALLOWED.fullmatch(symbol)]
        if not defined:
            findings.append('%s defines nothing' % archive)
    tree.finish(findings, 'Bytes and "now" come in, bytes and events go out: move the call to a '
                'layer above lib/proto.')


main()
