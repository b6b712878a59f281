#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Convert the report's page to C: the parts before and after the position of the figures become
arrays of bytes."""
import sys

PLACE = b'@DATA@'


def array(name, data):
    lines = [', '.join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    return f'static const unsigned char {name}[] = {{\n' + ',\n'.join(lines) + '\n};\n'


def main():
    page, out = sys.argv[1:]
    with open(page, 'rb') as file:
        parts = file.read().split(PLACE)
    if len(parts) != 2:
        sys.exit(f'{page}: {PLACE.decode()} must occur once, not {len(parts) - 1} times')
    with open(out, 'w', encoding='ascii') as file:
        file.write('/* Made by embed.py. */\n' + array('page_head', parts[0]) +
                   array('page_tail', parts[1]))


main()
