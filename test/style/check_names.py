#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The name of a static function is unique within its library or driver: a search finds one
definition, and a profile or a debugger's breakpoint names one function."""

import collections
import re

import tree

STATIC = re.compile(r'^static\s+(?:printf_like\([^)]*\)\s+)?(?:\w+[\s*]+)+?(\w+)\(', re.M)


def unit_of(path):
    """The library or driver that a file belongs to; None: neither."""
    if path.parts[0] in ('lib', 'drivers') and len(path.parts) > 2:
        return '/'.join(path.parts[:2])
    return None


def main():
    places = collections.defaultdict(list)
    for path in tree.files('.c') + tree.files('.h'):
        unit = unit_of(path)
        if unit is None:
            continue
        for name in sorted(set(STATIC.findall(tree.text(path)))):
            places[unit, name].append(str(path))
    findings = ['%s() is static in each of %s' % (name, ', '.join(paths))
                for (_, name), paths in sorted(places.items()) if len(paths) > 1]
    tree.finish(findings, 'Begin with the noun that the file is about, or share one function.')


main()
