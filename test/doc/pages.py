# SPDX-License-Identifier: BSD-3-Clause
"""Reads the pages: their blocks, each with its language, and the literals in their text.

A literal block ('::') has commands of a shell. Any other block says what it has: 'c', 'ini',
'console' for a command ('$ ') with its output, or 'none' for other
text, such as pictures and tables."""

import pathlib
import re
import sys
import textwrap
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'style'))
import tree  # noqa: E402

SHELL, CONSOLE, NONE, C, INI = 'sh', 'console', 'none', 'c', 'ini'
DIRECTIVE = re.compile(r'\.\. (code-block|literalinclude)::\s*(\S+)')


class Block(typing.NamedTuple):
    page: str
    line: int  # line of the page at which the text begins
    language: str
    text: str  # for a literalinclude: the name of the file and the options

    @property
    def at(self):
        return f'{self.page}:{self.line}'


def names():
    """Returns the pages of the tree."""
    return [str(path) for path in tree.files('.rst')]


def indent_of(line):
    return len(line) - len(line.lstrip())


def language_of(line):
    """Returns the language of the block that begins below the line, or None if no block begins
    there."""
    found = DIRECTIVE.match(line.strip())
    if found:
        return found.group(2) if found.group(1) == 'code-block' else 'literalinclude'
    return SHELL if line.endswith('::') and not line.strip().startswith('.. ') else None


def blocks_of(page, text):
    """Returns the blocks of a page, in the order of the page."""
    lines = text.split('\n')
    found, i = [], 0
    while i < len(lines):
        language, indent, first = language_of(lines[i]), indent_of(lines[i]), i
        i += 1
        if not language:
            continue
        while i < len(lines) and (not lines[i] or indent_of(lines[i]) > indent):
            i += 1
        body = textwrap.dedent('\n'.join(lines[first + 1:i])).strip('\n')
        if language == 'literalinclude':
            body = lines[first].split('::')[1].strip() + '\n' + body
        begin = next((n for n in range(first + 1, i) if lines[n]), first)
        found.append(Block(page, begin + 1, language, body))
    return found


def literals_of(text):
    """Returns the literals in a page's text as (line, literal). A literal can extend over two
    lines."""
    for found in re.finditer(r'(?<!`)``([^`]+)``(?!`)', text):
        yield text.count('\n', 0, found.start()) + 1, ' '.join(found.group(1).split())


def commands_of(block):
    """Returns the commands of a block as (line, command, output). Only the commands of a console
    have output."""
    if block.language == SHELL:
        return [(block.line, block.text, None)]
    found, end = [], None
    for number, line in enumerate(block.text.split('\n'), block.line):
        if end or (found and found[-1][1].endswith('\\')):
            found[-1][1] += '\n' + line
            end = None if line == end else end
        elif line.startswith('$ '):
            found.append([number, line[2:], []])
            here = re.search(r"<<'?(\w+)", line)
            end = here.group(1) if here else None
        elif found:
            found[-1][2].append(line)
        else:
            found.append([number, 'false', [line]])  # the first line of a console is a command
    return found


def outlines(shown, printed):
    """Returns whether an output contains the lines that a page shows, in the same order. The page
    can leave out lines, can replace the rest of a line by '...', and can break a line."""
    def squeeze(text):
        return re.sub(r'\s+', ' ', text).strip()
    printed, at = squeeze(printed), 0
    for piece in re.split(r'\.\.\.|\n', '\n'.join(shown)):
        found = printed.find(squeeze(piece), at)
        if found < 0:
            return False
        at = found + len(squeeze(piece))
    return True


def in_shape(text):
    """Returns the text with each number replaced, and without the marks of disturbed runs."""
    text = re.sub(r' !$', '', text, flags=re.M)
    return re.sub(r'\d+(\.\d+)?', 'N', text)
