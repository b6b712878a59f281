#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each header compiles alone, and sees no header of a library below its own: lib/meson.build's order."""

import re
import shlex
import subprocess
import sys

import tree

FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-fsyntax-only', '-Wall', '-Wextra', '-Werror', '-Wno-unused-function', '-x', 'c', '-']


def lib_order():
    match = re.search(r'^lib_order = \[(.*?)\]', tree.text('lib/meson.build'), re.M | re.S)
    return re.findall(r"'(\w+)'", match.group(1))


def includes(path, order):
    """The project's include directories that a header may see, or None where it is none of a library's."""
    if path.parts[0] == 'lib' and path.parts[1] in order:
        return ['lib/' + lib for lib in order[:order.index(path.parts[1]) + 1]]
    return ['lib/' + lib for lib in order] + ['drivers/shm', 'drivers/sim', 'apps/nfs3', 'bench/measure',
                                                    str(path.parent)]


def main():
    compiler = sys.argv[1:]
    dpdk = shlex.split(subprocess.run(['pkg-config', '--cflags', 'libdpdk', 'libtirpc'], check=True, text=True,
                                      stdout=subprocess.PIPE).stdout)
    # As the build does, so that DPDK's own warnings are not ours. lib/proto has no dependency at all.
    dpdk = ['-isystem' + flag[2:] if flag.startswith('-I') else flag for flag in dpdk]
    order = lib_order()
    findings = []
    for path in tree.files('.h'):
        flags = ['-I' + name for name in includes(path, order)]
        if path.parts[:2] != ('lib', 'proto'):
            flags += dpdk
        # Twice, so that a missing include guard shows.
        source = '#include "%s"\n' % path.name * 2
        done = subprocess.run(compiler + flags + ['-I' + str(path.parent)] + FLAGS, input=source, text=True,
                              cwd=tree.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            findings.append('%s does not compile alone:\n%s' % (path, done.stdout))
    tree.finish(findings, 'Include what the header uses, from its own library or one above it in lib/meson.build.')


main()
