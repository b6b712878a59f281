#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each header compiles alone, a public header also in strict C11. A header must not see
the header of a library after its own in the order of lib/meson.build. A public header sees public
headers only. A library includes no public header of a library after it. Arguments: the build
directory, which has the generated headers, and the compiler."""

import re
import shlex
import subprocess
import sys

import tree

FLAGS = ['-fsyntax-only', '-Wall', '-Wextra', '-Werror', '-Wno-unused-function', '-x', 'c', '-']
GNU = ['-std=gnu11', '-D_GNU_SOURCE']
STRICT = ['-std=c11', '-pedantic'] # programs may use the public headers so


# The library to which each public header belongs.
PUBLIC = {'common': 'base', 'version': 'base', 'xdr': 'proto', 'codec': 'proto', 'rpc': 'proto',
          'binding': 'proto', 'memory': 'mem', 'log': 'mem',
          'histogram': 'mem',
          'peer': 'fabric', 'profile': 'engine', 'engine': 'engine', 'metrics': 'engine',
          'latency': 'engine',
          'connection': 'conn', 'inspect': 'conn', 'call': 'requester',
          'request': 'responder', 'binding_nfs': 'ulb', 'capture': 'capture', 'runtime': 'runtime'}


# A folder of unit tests whose headers see those of the program under test.
PROGRAMS = {'test/unit/check': 'apps/weir-check'}


def lib_order():
    match = re.search(r'^lib_order = \[(.*?)\]', tree.text('lib/meson.build'), re.M | re.S)
    return re.findall(r"'(\w+)'", match.group(1))


def includes(path, order):
    """Returns the project's include directories that a header may see."""
    if path.parts[:2] == ('lib', 'include'):
        return ['lib/include']
    return ['lib/include'] + private_includes(path, order)


def with_version2(libs):
    """Returns the folders of libraries, each with the folder of its version 2 part."""
    folders = [folder for lib in libs for folder in ('lib/' + lib, 'lib/' + lib + '/v2')]
    return [folder for folder in folders if (tree.ROOT / folder).is_dir()]


def private_includes(path, order):
    if path.parts[0] == 'lib' and path.parts[1] in order:
        return with_version2(order[:order.index(path.parts[1]) + 1])
    folders = with_version2(order) + ['drivers/shm', 'drivers/sim', 'drivers/verbs', 'drivers/mlx5',
                                      'apps/common', 'apps/nfs3', 'bench/measure', 'test/support',
                                      str(path.parent)]
    if str(path.parent) in PROGRAMS:
        folders.append(PROGRAMS[str(path.parent)])
    # The folders of a program see the program's own folder.
    return folders + ['/'.join(path.parts[:2])] if path.parts[0] == 'apps' else folders


def check_order(path, order):
    """Returns findings on the public headers that a file of a library includes."""
    if path.parts[:2] == ('lib', 'include'):
        lib = PUBLIC.get(path.stem)
        if lib is None:
            return [] if path.name == 'weir.h' else ['%s: add it to PUBLIC' % path]
    else:
        lib = path.parts[1]
    return ['%s includes weir/%s.h, which belongs to a library below lib/%s' % (path, name, lib)
            for name in re.findall(r'^#include <weir/(\w+)\.h>', tree.text(path), re.M)
            if name not in PUBLIC or order.index(PUBLIC[name]) > order.index(lib)]


def main():
    build, compiler = sys.argv[1], sys.argv[2:]
    dpdk = shlex.split(subprocess.run(['pkg-config', '--cflags', 'libdpdk', 'libtirpc'], check=True,
                                      text=True, stdout=subprocess.PIPE).stdout)
    # Like the build, this excludes warnings of DPDK's headers. lib/base and lib/proto have no
    # dependencies.
    dpdk = ['-isystem' + flag[2:] if flag.startswith('-I') else flag for flag in dpdk]
    order = lib_order()
    findings = []
    for path in tree.files('.c') + tree.files('.h'):
        if path.parts[0] == 'lib' and path.parts[1] in order + ['include']:
            findings += check_order(path, order)

    def compile_alone(path):
        is_public = path.parts[:2] == ('lib', 'include')
        flags = ['-I' + name for name in includes(path, order)]
        if path.parts[:2] not in (('lib', 'base'), ('lib', 'proto'), ('lib', 'include')):
            flags += dpdk
        if path.parts[0] != 'lib':
            flags.append('-I%s/apps/nfs3' % build) # generated headers
        # Includes the header twice, so that a missing include guard is detected.
        name = '<weir/%s>' if is_public else '"%s"'
        source = '#include ' + name % path.name + '\n'
        source += source
        done = subprocess.run(compiler + flags +
                              ['-I%s' % path.parent, '-I%s/%s' % (build, path.parent)] +
                              (STRICT if is_public else GNU) + FLAGS, input=source,
                              text=True, cwd=tree.ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            return '%s does not compile alone:\n%s' % (path, done.stdout)
        return None

    findings += [what for what in tree.at_once(compile_alone, tree.files('.h')) if what]
    tree.finish(findings, 'Include what the header uses, from its own library or one above it in '
                'lib/meson.build.')


main()
