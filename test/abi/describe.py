#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Describes the ABI of the public headers, for abidiff.

The description has each function that is marked WEIR_API with the version of its symbol, and each
type that the functions use. It is made from a shared library that contains these functions without
their code, because the debugging information of the real library also has private types of the same
names. The declarations are those that the real library was compiled with. The style check 'exports'
checks that the real library exports the same symbols.

Arguments: the folder that has the folder 'weir' with the headers, the symbol map, the file to
write, and the C compiler."""

import pathlib
import re
import subprocess
import sys
import tempfile

DECLARATION = re.compile(r'^WEIR_API\s+([^;{}]*?)\s*;', re.M)


def stubs_of(headers):
    """Returns a C file that defines each function of the headers."""
    text = '#include <weir/weir.h>\n'
    for path in sorted((headers / 'weir').glob('*.h')):
        source = re.sub(r'/\*.*?\*/', '', path.read_text(encoding='utf-8'), flags=re.S)
        for declaration in DECLARATION.findall(source):
            text += 'WEIR_API %s\n{\n\t__builtin_trap();\n}\n' % declaration
    return text


def describe(headers, symbols, output, compiler):
    """Writes the description of the headers in the folder to the file 'output'."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder, 'stubs.c'), pathlib.Path(folder, 'libweir.so')
        source.write_text(stubs_of(headers), encoding='utf-8')
        # The options of the build, such as sanitizers, have no influence on types.
        subprocess.run([*compiler, '-std=c11', '-g', '-gdwarf-4', '-O0', '-fPIC', '-shared',
                        '-nostdlib', '-fvisibility=hidden', '-I', headers,
                        '-Wl,-soname,libweir.so.1', f'-Wl,--version-script={symbols}', source,
                        '-o', library], check=True)
        subprocess.run(['abidw', '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs',
                        '--no-elf-needed', '--type-id-style', 'hash', '--out-file', output,
                        library], check=True)
        # The name of the temporary folder would change with each description.
        described = pathlib.Path(output)
        described.write_text(described.read_text(encoding='utf-8').replace(f'{folder}/', ''),
                             encoding='utf-8')


def main():
    headers, symbols, output, *compiler = sys.argv[1:]
    describe(pathlib.Path(headers), symbols, output, compiler)


if __name__ == '__main__':
    main()
