# SPDX-License-Identifier: BSD-3-Clause
"""Makes the public headers of a later version: a copy in which structures have another member."""

import re

STRUCTURE = r'^struct %s \{\n(?:[^}].*\n|\n)*?(?=\};)'
# An item of the list in weir/common.h: "1. Structures that weir fills in: weir_peer and ...".
KIND = re.compile(r'^ \* \d\. (Structures[^:]*):([^.]*)\.', re.M)


def structures_of(headers):
    """Returns the names of the structures that the headers define."""
    return {name for path in headers.glob('weir/*.h')
            for name in re.findall(r'^struct (\w+) \{', path.read_text(encoding='utf-8'), re.M)}


def kinds_of(headers):
    """Returns the kind of each structure, by the list in weir/common.h."""
    text = (headers / 'weir/common.h').read_text(encoding='utf-8')
    return {name: kind for kind, names in KIND.findall(text)
            for name in re.findall(r'\bweir_\w+', names)}


def growing(headers):
    """Returns the names of the structures that can grow."""
    return sorted(name for name, kind in kinds_of(headers).items() if 'never change' not in kind)


def edit(headers, pattern, change):
    """Replaces the only match of a pattern in the headers of the folder."""
    count = 0
    for path in headers.glob('weir/*.h'):
        text, found = re.subn(pattern, change, path.read_text(encoding='utf-8'), flags=re.M)
        if found:
            path.write_text(text, encoding='utf-8')
        count += found
    assert count == 1, f'{pattern} occurs {count} times'


def append(headers, name, member):
    """Appends a member to the structure in the headers of the folder."""
    edit(headers, STRUCTURE % name, lambda match: f'{match.group()}\t{member};\n')
