# SPDX-License-Identifier: BSD-3-Clause
"""The command line of weirgen."""

import argparse
import pathlib
import re
import sys

from rpcl import check, output, parse, source
from rpcl.model import InputError
from rpcl.version import VERSION

STATUS_INPUT = 1 # the input has an error, or a file cannot be read or written
STEM = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*')


def options_of(arguments):
    parser = argparse.ArgumentParser(
        prog='weirgen', description='Compiles the RPC language (RFC 5531, RFC 4506) to C for weir. '
        'From NAME.x it makes NAME_xdr.h and NAME_xdr.c, and for programs NAME_rpc.h and '
        'NAME_rpc.c.')
    parser.add_argument('file', metavar='FILE.x', help='the definitions')
    parser.add_argument('-o', '--output-dir', metavar='DIR', default='.', type=pathlib.Path,
                        help='the folder of the files that are written; the default is the current '
                        'one')
    parser.add_argument('-c', '--cpp', action='store_true',
                        help='run the C preprocessor, cpp, first')
    parser.add_argument('-D', '--define', metavar='NAME[=VALUE]', action='append', default=[],
                        help='define a macro for the preprocessor; implies --cpp')
    parser.add_argument('-I', '--include', metavar='DIR', action='append', default=[],
                        help='a folder for #include of the preprocessor; implies --cpp')
    parser.add_argument('-l', '--licence', metavar='ID', default='BSD-3-Clause',
                        help='the SPDX identifier in the files; the default is BSD-3-Clause')
    parser.add_argument('-m', '--messages', action='store_true',
                        help='also make NAME_msg.h and NAME_msg.c, which serve the programs over '
                        'another transport than weir, such as TCP')
    parser.add_argument('-V', '--version', action='version', version='weirgen ' + VERSION)
    options = parser.parse_args(arguments)
    if not STEM.fullmatch(pathlib.Path(options.file).stem):
        parser.error("the name '%s' is not one of C" % pathlib.Path(options.file).stem)
    return options


def read(options):
    if options.cpp or options.define or options.include:
        flags = ['-D' + name for name in options.define] + ['-I' + name for name in options.include]
        return source.preprocess(options.file, ['cpp'], flags)
    return source.read(options.file)


def write(path, content):
    """Replaces the file by a complete one. After an error, the file is as it was."""
    part = path.with_name('.%s.part' % path.name)
    try:
        part.write_text(content, encoding='utf-8')
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        error.filename = str(path)
        raise


def main(arguments):
    options = options_of(arguments)
    text = source.Source(options.file, '')
    try:
        text = read(options)
        definitions = parse.parse(text)
        path = pathlib.Path(options.file)
        files = output.Output(path.name, path.stem, check.check(definitions), text.passed,
                              options.licence, options.messages).files()
        options.output_dir.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write(options.output_dir / name, content)
    except InputError as error:
        print('%s:%d:%d: error: %s' % (*text.place(error.position), error.message),
              file=sys.stderr)
        return STATUS_INPUT
    except source.PreprocessorError as error:
        print('weirgen: %s' % error, file=sys.stderr)
        return STATUS_INPUT
    except OSError as error:
        print('weirgen: %s: %s' % (error.filename or options.file, error.strerror),
              file=sys.stderr)
        return STATUS_INPUT
    return 0
