# SPDX-License-Identifier: BSD-3-Clause
"""Reads an .x file, with or without the C preprocessor, and knows where each line came from."""

import bisect
import re
import subprocess

from rpcl.model import InputError

BYTES_MAX = 4 << 20
MARKER = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"([^"]*)"')

PRAGMA = re.compile(r'\s*#\s*(?:pragma\b|$)')


class PreprocessorError(Exception):
    """The preprocessor failed. The text is its own report."""


class Source:
    """The text of a file. If the preprocessor ran, its line markers give the files and lines."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.passed = [] # the lines that begin with '%', without it
        self.markers = [(0, path, 1)] # (line of the marker, file, number of the line after it)

    def place(self, position):
        """Returns the file, line and column of a position in the text."""
        line, column = position
        at = bisect.bisect_right([marker[0] for marker in self.markers], line - 1) - 1
        marked, path, number = self.markers[at]
        return path, number + line - 1 - marked, column

    def take(self, skipped):
        """Takes the lines that are no definitions. A line that begins with '%' is for the header. A
        line that begins with '#' is a line marker of the preprocessor, or an error."""
        for token in skipped:
            marker = MARKER.match(token.strip())
            if token.startswith('%'):
                self.passed.append(str(token)[1:])
            elif marker:
                self.markers.append((token.line, marker.group(2), int(marker.group(1))))
            elif not PRAGMA.match(token):
                raise InputError((token.line, token.column),
                                 'a directive of the C preprocessor: run weirgen with --cpp')


def read(path):
    with open(path, 'rb') as file:
        data = file.read(BYTES_MAX + 1)
    return decode(path, data)


def decode(path, data):
    if len(data) > BYTES_MAX:
        raise InputError((1, 1), 'the input has more than %d bytes' % BYTES_MAX)
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError as error:
        before = data[:error.start]
        raise InputError((before.count(b'\n') + 1, error.start - before.rfind(b'\n')),
                         'a byte that is not UTF-8') from None
    return Source(path, text)


def preprocess(path, cpp, options):
    """Returns the output of the preprocessor. It keeps comments, because annotations are
    comments."""
    command = [*cpp, '-C', '-nostdinc', '-undef', *options, path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise PreprocessorError(done.stderr.decode(errors='replace').strip() or
                                '%s failed' % cpp[0])
    return decode(path, done.stdout)
