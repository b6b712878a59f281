#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that what DPDK registers by constructors is in each program once. A part that is linked
twice is registered twice, and EAL reports an error at each start when its table is full. Arguments:
the programs."""

import collections
import re
import subprocess
import sys

import tree

CONSTRUCTOR = re.compile(r'mp_hdlr_init_\w+') # of handlers of mempools, RTE_MEMPOOL_REGISTER_OPS()


def constructors(program):
    out = subprocess.run(['nm', program], check=True, text=True, stdout=subprocess.PIPE).stdout
    return [name for name in (line.split()[-1] for line in out.splitlines())
            if CONSTRUCTOR.fullmatch(name)]


def main():
    findings = []
    for program in sys.argv[1:]:
        times = collections.Counter(constructors(program))
        findings += ['%s: %s is linked %d times' % (program, name, count)
                     for name, count in sorted(times.items()) if count > 1]
    tree.finish(findings,
                'tools/deps/meson.build says how programs are linked with archives of DPDK.')


main()
