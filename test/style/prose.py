# SPDX-License-Identifier: BSD-3-Clause
"""Finds the prose of the tree: the paragraphs of comments and of pages."""

import bisect
import io
import re
import tokenize

C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
# In a shell script or a meson.build. Quotes that a line opens and does not close hide its comment.
HASH_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|(?<!\S)#[^\n]*')
MARKS = re.compile(r'/?\*+!?<?|//+!?<?|#!.*|#+')
ITEM = re.compile(r'(?:[-*+]|#\.|\d+\.|\w\))\s+|[@\\]\w+(?:\[\w+\])?\s|\.\. |:[\w -]+:\s')
SENTENCE_END = re.compile(r'(?<=[.?!])[)"\']*\s+(?=["\'(*]*(?:[A-Z\d`]|weir\b))')
ABBREVIATION = re.compile(r'\b(?:e\.g|i\.e|etc|vs|cf)\.$')
LITERAL = re.compile(r'``(?:(?!\n\s*\n).)+?``|(?::[\w:]+:)?`(?:(?!\n\s*\n)[^`])+`_?', re.S)
IN_LITERAL = re.compile(r'\n\s*|.')
# The bodies of other directives are prose.
NO_PROSE = re.compile(r'\.\. (?:cells|code-block|contents|doxygenfile|graphviz|literalinclude|'
                      r'sequence|toctree)::')
BORDER = re.compile(r'=+(?:  ?=+)+')
UNDERLINE = re.compile(r'([=\-~^"*])\1+')


class Paragraph:
    """Lines of prose that belong together, as one string in which line numbers can be found."""

    def __init__(self, lines):
        self.text, self.starts, self.numbers = '', [], []
        for number, line in lines:
            self.starts.append(len(self.text))
            self.numbers.append(number)
            self.text += line + ' '
        self.text = self.text.rstrip()

    def line(self, offset):
        return self.numbers[bisect.bisect_right(self.starts, offset) - 1]

    def sentences(self):
        """The sentences, each with its offset."""
        begin = 0
        for match in SENTENCE_END.finditer(self.text):
            if ABBREVIATION.search(self.text[begin:match.start()]):
                continue
            yield begin, self.text[begin:match.start()]
            begin = match.end()
        yield begin, self.text[begin:]


def paragraphs(lines, is_page):
    """Divide numbered lines at blank lines and at the items of lists. In a page, a definition
    begins where the lines are indented further than its term."""
    found, indent, begins_item = [], 0, False
    for number, line in lines:
        stripped = line.strip()
        item = ITEM.match(stripped)
        indented = is_page and len(line) - len(line.lstrip()) != indent
        if not stripped or item or (indented and not begins_item):
            yield from [Paragraph(found)] if found else []
            found = []
        indent, begins_item = len(line) - len(line.lstrip()), item is not None
        stripped = stripped[item.end():] if item else stripped
        if stripped:
            found.append((number, stripped))
    if found:
        yield Paragraph(found)


def comment_lines(text, pattern):
    """The numbered lines of all comments. A blank line divides comments with code between them."""
    number, at, last = 1, 0, -1
    for match in pattern.finditer(text):
        number += text.count('\n', at, match.start())
        at = match.start()
        if match.group()[0] in '"\'':
            continue
        own_line = not text[text.rfind('\n', 0, at) + 1:at].strip()
        if number != last + 1 or not own_line:
            yield number, ''
        for line in match.group().split('\n'):
            line = line.strip()
            marks = MARKS.match(line)
            line = line[marks.end():] if marks else line
            yield number, line.removesuffix('*/').rstrip()
            number += 1
        number -= 1
        last, at = number, match.end()


def python_lines(text):
    """The numbered lines of comments and of documentation strings."""
    before, last = tokenize.NEWLINE, -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number = token.start[0]
        if token.type == tokenize.COMMENT:
            if number != last + 1 or token.line[:token.start[1]].strip():
                yield number, ''
            yield number, token.string.lstrip('#').strip()
            last = number
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT):
            yield number, ''
            for offset, line in enumerate(re.sub(r'^\w?("""|\')|("""|\')$', '',
                                                 token.string).split('\n')):
                yield number + offset, line
            yield number, ''
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.DEDENT):
            before = token.type


def table_lines(lines, border):
    """The numbered cells of a simple table, each after a blank line."""
    columns = [match.start() for match in re.finditer('=+', border)]
    spans = list(zip(columns, columns[1:] + [None]))
    rows = []
    for number, line in lines:
        if line[:spans[0][1]].strip() or not rows:
            rows.append([[] for _ in spans])
        for cell, (begin, end) in zip(rows[-1], spans):
            cell.append((number, line[begin:end]))
    for row in rows:
        for cell in row:
            yield cell[0][0], ''
            yield from cell


def without_literals(text):
    """The text with each literal as a word of the same length."""
    def word(match):
        return 'X' + IN_LITERAL.sub(lambda part: part.group() if part.group()[0] == '\n' else '_',
                                    match.group()[1:])
    return LITERAL.sub(word, text)


def page_lines(text):
    """The numbered lines of prose of a page. Literals are words."""
    skipped, table = None, None
    for number, line in enumerate(without_literals(text).split('\n'), 1):
        indent = len(line) - len(line.lstrip())
        if table is not None:
            if not line.strip():
                yield from table_lines(table[1:], table[0])
                yield number, ''
                table = None
            elif not BORDER.fullmatch(line.strip()):
                table.append((number, line))
            continue
        if skipped is not None and (not line.strip() or indent > skipped):
            continue
        if skipped is not None:
            skipped = None
            yield number, ''
        if NO_PROSE.match(line.strip()) or re.match(r'\.\. (?![\w-]+::)', line.strip()):
            skipped = indent
        elif BORDER.fullmatch(line.strip()):
            table = [line]
        elif UNDERLINE.fullmatch(line.strip()) or re.match(r'\s*(\.\. |:[\w-]+:)', line):
            yield number, ''
        else:
            # The items of a list-table begin with '* -'.
            item = re.match(r'\s*(?:[*-] )*', line)
            if item.group().strip():
                yield number, ''
            yield number, ' ' * item.end() + line[item.end():].removesuffix('::')
            if line.endswith('::'):
                skipped = indent
    if table:
        yield from table_lines(table[1:], table[0])


def is_shell(path, text):
    return path.suffix == '.sh' or (not path.suffix and
                                    re.match(r'#!.*\b(?:ba|da)?sh\b', text) is not None)


def is_python(path, text):
    return path.suffix == '.py' or (not path.suffix and
                                    re.match(r'#!.*\bpython', text) is not None)


def prose(path, text):
    """The paragraphs of prose of a file."""
    if path.suffix in ('.c', '.h', '.pml'):
        lines = comment_lines(text, C_TOKEN)
    elif is_python(path, text):
        lines = python_lines(text)
    elif is_shell(path, text) or path.suffix in ('.build', '.ini'):
        lines = comment_lines(text, HASH_TOKEN)
    elif path.suffix == '.rst':
        lines = page_lines(text)
    else:
        lines = []
    return paragraphs(lines, path.suffix == '.rst')
