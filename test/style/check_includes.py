#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs use public headers of the library, their own headers and what programs share. The list
below has each private header of lib and drivers that a program includes, and why. A header that is
not in the list, and an entry that no program needs, is a finding."""

import re

import tree

# Folders whose headers programs share.
SHARED = ('apps/common', 'apps/nfs3', 'bench/measure')

# Each private header has the folders of the programs that include it, and the reason.
PRIVATE = {
    'lib/base/terminal.h': (
        'apps/common apps/weir-nfs apps/weir-nfsd',
        'programs print names of a peer, which the log of the library makes safe by the same '
        'rules'),
    'lib/base/histogram.h': (
        'apps/weir-nfs bench/measure bench/micro bench/peers bench/weir-bench',
        'programs that measure add times without a call of a function, and peers are not linked '
        'to weir'),
    'lib/base/compiler.h': (
        'apps/common apps/weir-check apps/weir-fio apps/weir-nfs apps/weir-top bench/weir-bench '
        'bench/micro',
        'the loop that measures is compiled with the same hints as the library, and the compiler '
        'checks formats of functions that print'),
    'lib/fabric/driver.h': (
        'apps/common bench/weir-bench bench/micro',
        'help texts list the drivers of the build, and weir-micro-shm measures a driver alone'),
    'lib/engine/profile_engines.h': (
        'apps/weir-check bench/weir-bench',
        'weir-check describes each section of engines, and weir-bench divides them among its '
        'sides'),
    'lib/runtime/needs.h': (
        'apps/weir-check apps/weir-nfsd bench/weir-bench',
        'programs compare what the engines of a profile need with what the machine has'),
    'drivers/sim/sim.h': (
        'bench/round-trips',
        'weir-round-trips counts round trips in the virtual time of the simulated driver'),
    'drivers/verbs/verbs_options.h': (
        'apps/weir-check', 'weir-check finds the device by the options of the driver'),
    'drivers/shm/copy.h': (
        'bench/micro', 'weir-micro-memcpy measures this function'),
    'drivers/shm/ring.h': (
        'bench/micro', 'weir-micro-parts counts the instructions of this part'),
    'lib/mem/eal.h': (
        'bench/micro', 'a program without an engine starts the environment of DPDK itself'),
    'lib/mem/mem.h': (
        'bench/micro', 'weir-micro-parts counts the instructions of this part'),
    'lib/proto/credit.h': (
        'bench/micro', 'weir-micro-parts counts the instructions of this part'),
    'lib/proto/reduce.h': (
        'bench/micro', 'weir-micro-parts counts the instructions of this part'),
    'lib/proto/shape.h': (
        'bench/micro', 'weir-micro-parts counts the instructions of this part'),
    'lib/requester/requester.h': (
        'bench/micro', 'weir-micro-parts counts the instructions of this part'),
    'lib/proto/rdma1.h': (
        'apps/weir-decode bench/micro',
        'weir-decode prints what the decoder of the library reads, and no second decoder'),
    'lib/proto/rpc_msg.h': (
        'apps/weir-decode bench/micro',
        'weir-decode prints what the decoder of the library reads, and no second decoder'),
    'lib/proto/v2/rtr.h': (
        'apps/weir-decode',
        'weir-decode prints what the decoder of the library reads, and no second decoder'),
}


def resolve(path, name, headers):
    """Returns the private header that a program's file includes by this name, or None if the header
    is not private. A file sees its own folder first, then that of its program, then the headers
    that programs share."""
    for folder in (str(path.parent), '/'.join(path.parts[:2]), *SHARED):
        if folder + '/' + name in headers:
            return None
    for header in headers:
        if header.startswith(('lib/', 'drivers/')) and header.endswith('/' + name):
            return header
    return None


def main():
    headers = [str(path) for path in tree.files('.h')
               if path.parts[:2] != ('lib', 'include')]
    unused = {(header, folder) for header, (folders, _) in PRIVATE.items()
              for folder in folders.split()}
    listed = set(unused)
    findings = []
    for path in tree.files('.c', '.h'):
        if path.parts[0] not in ('apps', 'bench'):
            continue
        for name in re.findall(r'^#\s*include "([^"]+)"', tree.text(path), re.M):
            header = resolve(path, name, headers)
            use = header, '/'.join(path.parts[:2])
            unused.discard(use)
            if header and use not in listed:
                findings.append('%s includes %s, which is private' % (path, header))
    findings += ['%s is listed for %s, which does not include it' % use for use in sorted(unused)]
    tree.finish(findings, 'Use a public header, or put what programs need into apps/common. '
                'PRIVATE has the exceptions.')


main()
