#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each public function that uses an object of an engine begins with a check of its
thread (lib/engine/owner.h), unless its description says that any thread may call it."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r'/\*\*(?P<text>.*?)\*/\s*WEIR_API\s+(?P<head>[^;]*?)\((?P<params>[^;]*)\);',
                      re.DOTALL)
OBJECT = re.compile(r'(const )?struct weir_(engine|conn|call|request|listener) \*\w')
ANY = re.compile(r'Thread:[\s*]+any')
USER = re.compile(r'weir_(conn|request)_(set_)?user$')
HEADERS_MIN = 40 # functions that must be found, so that a broken pattern does not pass


def functions():
    """Yields each public function of an object as its name, and whether it needs a check."""
    for path in sorted((ROOT / 'lib/include/weir').glob('*.h')):
        for match in FUNCTION.finditer(path.read_text(encoding='utf-8')):
            name = re.search(r'\w+$', match['head'])[0]
            if OBJECT.match(match['params']):
                yield name, not (ANY.search(match['text']) or USER.match(name))


def definitions():
    """Returns the body of each function of lib by its name."""
    bodies = {}
    for path in (ROOT / 'lib').rglob('*.c'):
        text = path.read_text(encoding='utf-8')
        for match in re.finditer(r'^\w[^\n;={}]*?\b(weir_\w+)\([^;{}]*?\)\n\{\n(.*?)^\}', text,
                                 re.DOTALL | re.MULTILINE):
            bodies[match[1]] = match[2]
    return bodies


def main():
    bodies = definitions()
    findings = []
    count = 0
    for name, is_checked in functions():
        count += 1
        if name not in bodies:
            findings.append(f'{name}: no definition found in lib')
        elif is_checked != ('OTHER_THREAD(' in bodies[name]):
            findings.append(f'{name}: ' + (
                'add OTHER_THREAD(), or "Thread: any" to its description' if is_checked else
                'its description says that any thread may call it, but OTHER_THREAD() refuses'))
    if count < HEADERS_MIN:
        findings.append(f'only {count} functions found: the pattern does not fit the headers')
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
