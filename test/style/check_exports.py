#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that four sets are equal: the functions that libweir.so exports, those that libweir.a
exports, those marked WEIR_API, and those named weir_ in public headers (in lib/include). Arguments:
the shared library and the static one."""

import re
import subprocess
import sys

import tree

DECLARATION = re.compile(r'^(?!static|#|\s|typedef)([^;{}()=]*?)\b(\w+)\s*\([^{};]*\)\s*;', re.M)


def without_comments(text):
    return re.sub(r'/\*.*?\*/', '', text, flags=re.S)


def declared(text):
    """Returns function declarations as (name, is it marked WEIR_API)."""
    return [(name, 'WEIR_API' in head.split())
            for head, name in DECLARATION.findall(without_comments(text))]


def symbols(*arguments):
    """Returns the names that nm prints."""
    out = subprocess.run(['nm', '--defined-only', *arguments], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    # An absolute symbol is the name of a version.
    return {line.split()[2].split('@')[0] for line in out.splitlines()
            if len(line.split()) == 3 and line.split()[1] != 'A'}


def main():
    exported = symbols('-D', sys.argv[1])
    marked, named, findings = set(), set(), []
    for path in tree.files('.h'):
        if path.parts[0] not in ('lib', 'drivers'):
            continue
        functions = declared(tree.text(path))
        if path.parts[:2] == ('lib', 'include'):
            marked |= {name for name, is_marked in functions if is_marked}
            named |= {name for name, _ in functions if name.startswith('weir_')}
            findings += ['%s: %s is not named weir_*' % (path, name)
                         for name, _ in functions if not name.startswith('weir_')]
        else:
            findings += ['%s: %s is %s in a header that is not public' %
                         (path, name, 'marked WEIR_API' if is_marked else 'named weir_*')
                         for name, is_marked in functions if is_marked or name.startswith('weir_')]
    findings += ['%s: in a public header without WEIR_API' % name
                 for name in sorted(named - marked)]
    findings += ['%s: declared and not exported: it is not defined in any library' % name
                 for name in sorted(marked - exported)]
    findings += ['%s: exported and in no public header' % name
                 for name in sorted(exported - marked)]
    findings += ['%s: exported by only one of the two libraries' % name
                 for name in sorted(exported ^ symbols('-g', sys.argv[2]))]
    if not exported:
        findings.append('%s exports nothing' % sys.argv[1])
    tree.finish(findings, 'Public means: named weir_*, declared with WEIR_API in lib/include, '
                'defined. All three or none.')


main()
