#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that these sets are equal: the functions that libweir.so exports, those that libweir.a
exports, those marked WEIR_API, those named weir_ in public headers (in lib/include), and those of
the symbol map. Each function has the version that the map says. Arguments: the shared library and
the static one."""

import re
import subprocess
import sys

import tree

SYMBOLS = 'lib/link/weir.map'
DECLARATION = re.compile(r'^(?!static|#|\s|typedef)([^;{}()=]*?)\b(\w+)\s*\([^{};]*\)\s*;', re.M)
NODE = re.compile(r'^(\w+\.\d+) \{\n(.*?)^\}[^;]*;', re.M | re.S)


def without_comments(text):
    """Returns the text without comments and without lines for the preprocessor."""
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S).replace('\\\n', ' ')
    return re.sub(r'^#.*$', '', text, flags=re.M)


def declared(text):
    """Returns function declarations as (name, is it marked WEIR_API)."""
    return [(name, 'WEIR_API' in head.split())
            for head, name in DECLARATION.findall(without_comments(text))]


def exports_of(library):
    """Returns the version of each function that the library exports."""
    out = subprocess.run(['nm', '-D', '--defined-only', '--with-symbol-versions', library],
                         check=True, text=True, stdout=subprocess.PIPE).stdout
    names = [line.split() for line in out.splitlines()]
    # The versions themselves are symbols of type A.
    return dict((name[2].replace('@@', '@').split('@') + [''])[:2]
                for name in names if name[1] != 'A')


def static_exports_of(library):
    """Returns the names of the functions that a static library exports."""
    out = subprocess.run(['nm', '-g', '--defined-only', library], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return {line.split()[2] for line in out.splitlines() if len(line.split()) == 3}


def map_of():
    """Returns the version of each function of the symbol map, and findings on the map."""
    versions, findings = {}, []
    for node, body in NODE.findall(without_comments(tree.text(SYMBOLS))):
        names = re.findall(r'^\t\t(\w+);$', body, re.M)
        findings += ['%s: %s is in %s and in %s' % (SYMBOLS, name, versions[name], node)
                     for name in names if name in versions]
        findings += ['%s: sort the functions of %s' % (SYMBOLS, node)] * (names != sorted(names))
        versions.update((name, node) for name in names)
    return versions, findings


def check_map(exported, marked):
    """Compares the map with the library and the headers."""
    versions, findings = map_of()
    findings += ['%s: add %s to the node of the next version' % (SYMBOLS, name)
                 for name in sorted(marked - versions.keys())]
    findings += ['%s: %s is in no public header' % (SYMBOLS, name)
                 for name in sorted(versions.keys() - marked)]
    return findings + ['%s: exported with version "%s", and the map has "%s"' %
                       (name, version, versions[name])
                       for name, version in sorted(exported.items())
                       if version != versions.get(name, version)]


def main():
    exported = exports_of(sys.argv[1])
    static = static_exports_of(sys.argv[2])
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
    findings += ['%s: declared and not exported: it is not defined in any library, or not in the '
                 'symbol map' % name for name in sorted(marked - exported.keys())]
    findings += ['%s: exported and in no public header' % name
                 for name in sorted(exported.keys() - marked)]
    findings += ['%s: exported by only one of the two libraries' % name
                 for name in sorted(exported.keys() ^ static)]
    findings += check_map(exported, marked)
    if not exported:
        findings.append('%s exports nothing' % sys.argv[1])
    tree.finish(findings, 'Public means: named weir_*, declared with WEIR_API in lib/include, '
                'defined, and in %s. All four or none.' % SYMBOLS)


main()
