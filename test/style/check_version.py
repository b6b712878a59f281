#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that weir has one version: that of meson.build, of weir/version.h and of the changelog's
first section. The nodes of the symbol map have its major version. Argument: meson's version."""

import re
import sys

import tree

HEADER, CHANGELOG, SYMBOLS = ('lib/include/weir/version.h', 'doc/changelog.rst',
                              'lib/link/weir.map')


def main():
    version = sys.argv[1]
    numbers = dict(re.findall(r'^#define WEIR_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)',
                              tree.text(HEADER), re.M))
    found = {
        HEADER + ' (numbers)': '.'.join(numbers.get(part, '-')
                                        for part in ('MAJOR', 'MINOR', 'PATCH')),
        HEADER + ' (string)': ''.join(re.findall(r'^#define WEIR_VERSION_STRING\s+"(.*)"',
                                                 tree.text(HEADER), re.M)),
        CHANGELOG: ''.join(re.findall(r'^(\d+\.\d+\.\d+)\n=', tree.text(CHANGELOG), re.M)[:1]),
    }
    findings = ['%s: version %s, and meson.build has %s' % (where, have, version)
                for where, have in found.items() if have != version]
    major, minor, _ = (int(part) for part in version.split('.'))
    for node, low in re.findall(r'^WEIR_(\d+)\.(\d+) \{', tree.text(SYMBOLS), re.M):
        if int(node) != major or int(low) > minor:
            findings.append('%s: node WEIR_%s.%s in version %s' % (SYMBOLS, node, low, version))
    tree.finish(findings, 'doc/abi.rst says when each part of the version increases.')


main()
