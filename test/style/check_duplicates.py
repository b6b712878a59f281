#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that no six lines of C occur twice, except in tests. Code or members that are needed in
two places must be a function or a type. Lines of code count, and so do members. Includes, comments,
braces, enumerators and rows of tables do not. White space has no effect."""

import collections
import re

import tree

LINES = 6
# An enumerator or a string, and a row of a table.
DATA = re.compile(r'\w+(?: = [^,;]*)?,|\{.*\},?')
STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.S)


def counted_lines(text):
    """Returns the lines that count with their numbers, and with normalised white space."""
    text = STRING_OR_COMMENT.sub(
        lambda match: match.group(1) or re.sub(r'[^\n]', ' ', match.group()), text)
    lines = [(number, ' '.join(line.split())) for number, line in enumerate(text.split('\n'), 1)]
    return [(number, line) for number, line in lines
            if re.search(r'\w', line) and not line.startswith('#include') and
            not DATA.fullmatch(line)]


def runs(files):
    """Returns pairs of places with equal lines. Each place is a file, an index of its lines, and
    the number of equal lines."""
    places = collections.defaultdict(list)
    for path, lines in files.items():
        for at in range(len(lines) - LINES + 1):
            places[tuple(line for _, line in lines[at:at + LINES])].append((path, at))
    pairs = {(first, place) for same in places.values() for first in same[:1]
             for place in same[1:]}
    for (path, at), (other, other_at) in sorted(pairs):
        if ((path, at - 1), (other, other_at - 1)) in pairs:
            continue
        count = LINES
        while ((path, at + count - LINES + 1), (other, other_at + count - LINES + 1)) in pairs:
            count += 1
        yield (path, at), (other, other_at), count


def main():
    files = {path: counted_lines(tree.text(path)) for path in tree.files('.c', '.h')
             if path.parts[0] != 'test'}
    findings = []
    for (path, at), (other, other_at), count in runs(files):
        findings.append('%s:%d-%d and %s:%d-%d are the same' % (
            path, files[path][at][0], files[path][at + count - 1][0],
            other, files[other][other_at][0], files[other][other_at + count - 1][0]))
    tree.finish(findings, 'Make it one function or type that both use, in the module that it '
                'belongs to.')


main()
