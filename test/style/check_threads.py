#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each public function that uses an object of an engine, or a runtime, begins with a
check of its thread (lib/engine/owner.h), unless its description says that any thread may call it. A
function of a runtime checks that the creator of the runtime calls, unless its description names the
owner of an engine."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r'/\*\*(?P<text>.*?)\*/\s*WEIR_API\s+(?P<head>[^;]*?)\((?P<params>[^;]*)\);',
                      re.DOTALL)
OBJECT = re.compile(r'(const )?struct weir_(engine|conn|call|request|listener|runtime) \*\w')
ANY = re.compile(r'Thread:[\s*]+any')
CHECK = re.compile(r'OTHER_(?:THREAD|CREATOR)\(')
OWNER = re.compile(r'Thread:[\s*]+the[\s*]+owner')
USER = re.compile(r'weir_(conn|request)_(set_)?user$')
HEADERS_MIN = 40 # functions that must be found, so that a broken pattern does not pass


def functions():
    """Yields each public function of an object as its name, and the check that it needs, or None.
    """
    for path in sorted((ROOT / 'lib/include/weir').glob('*.h')):
        for match in FUNCTION.finditer(path.read_text(encoding='utf-8')):
            name = re.search(r'\w+$', match['head'])[0]
            kind = OBJECT.match(match['params'])
            if not kind:
                continue
            if ANY.search(match['text']) or USER.match(name):
                yield name, None
            elif kind[2] == 'runtime' and not OWNER.search(match['text']):
                yield name, 'OTHER_CREATOR('
            else:
                yield name, 'OTHER_THREAD('


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
    for name, needed in functions():
        count += 1
        if name not in bodies:
            findings.append(f'{name}: no definition found in lib')
            continue
        found = set(CHECK.findall(bodies[name]))
        if found != ({needed} if needed else set()):
            findings.append(f'{name}: ' + (
                f'add {needed}), or "Thread: any" to its description' if needed else
                'its description says that any thread may call it, but a check refuses'))
    if count < HEADERS_MIN:
        findings.append(f'only {count} functions found: the pattern does not fit the headers')
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
