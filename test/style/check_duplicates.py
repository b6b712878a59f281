#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No six lines of C stand twice: outside of tests, what is needed in two places is a function or a
type of its own. Lines of code count, members too: not includes, comments, braces and enumerators,
nor rows of tables. White space does not matter."""

import collections
import re

import tree

LINES = 6
# An enumerator or a string, and a row of a table.
DATA = re.compile(r'\w+(?: = [^,;]*)?,|\{.*\},?')
STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.S)


def counted_lines(text):
    """The lines that count, without white space at their ends and within, each with its number."""
    text = STRING_OR_COMMENT.sub(
        lambda match: match.group(1) or re.sub(r'[^\n]', ' ', match.group()), text)
    lines = [(number, ' '.join(line.split())) for number, line in enumerate(text.split('\n'), 1)]
    return [(number, line) for number, line in lines
            if re.search(r'\w', line) and not line.startswith('#include') and
            not DATA.fullmatch(line)]


def runs(files):
    """Pairs of places, each a file, an index of its lines and how many of these are the same."""
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
