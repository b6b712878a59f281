#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The name of a static function is unique within its library or driver, and within a program of
apps/ and bench/ with what it links of theirs: a search finds one definition, and a profile or a
debugger's breakpoint names one function."""

import collections
import re

import tree

STATIC = re.compile(r'^static\s+(?:printf_like\([^)]*\)\s+)?(?:\w+[\s*]+)+?(\w+)\(', re.M)


COMMON = ('apps/common/connect_hint', 'apps/common/memory_room', 'apps/common/number',
          'apps/common/program_options', 'apps/common/std_io', 'apps/common/uaddr')
ONCRPC = ('apps/common/oncrpc_client', 'apps/common/oncrpc_server', 'apps/common/tcp_listen',
          'apps/common/oncrpc_void')
# Of each program, folders and files (without suffix) that it is made of.
PROGRAMS = {
    'weir-decode': ('apps/weir-decode',),
    'weir-nfs': ('apps/weir-nfs', 'apps/nfs3', 'bench/measure', *COMMON, *ONCRPC),
    'weir-nfsd': ('apps/weir-nfsd', 'apps/nfs3', *COMMON, *ONCRPC),
    'weir-bench': ('bench/weir-bench', 'bench/measure', *COMMON),
    'weir-round-trips': ('bench/round-trips', 'bench/measure/range', *COMMON),
    'weir-peer-tirpc': ('bench/peers/tirpc', 'bench/peers/peer', 'bench/measure/hist'),
    'weir-peer-spsc': ('bench/peers/spsc', 'bench/peers/peer', 'bench/measure/hist'),
    'weir-micro-pingpong': ('bench/micro/pingpong', 'bench/measure/hist'),
    'weir-micro-memcpy': ('bench/micro/memcpy',),
    'weir-micro-rpc': ('bench/micro/rpc',),
    'weir-micro-shm': ('bench/micro/shm', 'bench/measure/hist'),
    'weir-micro-parts': ('bench/micro/parts',),
}


def units_of(path):
    """The library or driver that a file belongs to, or the programs."""
    if path.parts[0] in ('lib', 'drivers') and len(path.parts) > 2:
        return ['/'.join(path.parts[:2])]
    where = {str(parent) for parent in path.parents} | {str(path.with_suffix(''))}
    return [name for name, parts in PROGRAMS.items() if where.intersection(parts)]


def main():
    places = collections.defaultdict(list)
    findings = []
    for path in tree.files('.c') + tree.files('.h'):
        units = units_of(path)
        if path.parts[0] in ('apps', 'bench') and not units:
            findings.append('%s is in no program: add it to PROGRAMS' % path)
        for unit in units:
            for name in sorted(set(STATIC.findall(tree.text(path)))):
                places[unit, name].append(str(path))
    findings += ['%s() is static in each of %s' % (name, ', '.join(paths))
                 for (_, name), paths in sorted(places.items()) if len(paths) > 1]
    tree.finish(findings, 'Begin with the noun that the file is about, or share one function.')


main()
