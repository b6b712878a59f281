# SPDX-License-Identifier: BSD-3-Clause
"""Lines of C, with their indentation."""

import re
import textwrap

COLUMNS = 100
# The empty line between paragraphs is a paragraph, too.
PARAGRAPHS = re.compile(r'\n(?=- )|(?<=\n)\n|\n(?=\n)')
TAB = 8


class Text:
    def __init__(self):
        self.lines = []
        self.depth = 0

    def add(self, *lines):
        """Adds lines at the current depth. An empty line has no indentation."""
        self.lines += ['\t' * self.depth + line if line else '' for line in lines]

    def comment(self, text, is_doc=False):
        """Adds a comment. Paragraphs are divided by an empty line; an item of a list begins with
        '- '."""
        head = '/**' if is_doc else '/*'
        room = COLUMNS - TAB * self.depth
        if '\n' not in text and len(text) + len(head) + 4 <= room:
            self.add('%s %s */' % (head, text))
            return
        self.add(head)
        for paragraph in PARAGRAPHS.split(text):
            indent = '  ' if paragraph.startswith('- ') else ''
            self.add(*[' * ' + part for part in textwrap.wrap(paragraph, room - 3,
                                                              subsequent_indent=indent)] or [' *'])
        self.add(' */')

    def fill(self, head, parts, separator, tail):
        """Adds head, the parts with separators, and tail. Lines after the first one begin in the
        column after the last parenthesis that the head opens."""
        lines, indent = [head], self.columns(head)
        for number, part in enumerate(parts):
            part += separator if number + 1 < len(parts) else tail
            space = '' if lines[-1].endswith(('(', '\t')) or lines[-1].strip() == '' else ' '
            if self.columns(lines[-1] + space + part) > COLUMNS and number > 0:
                width = indent - TAB * self.depth
                lines.append('\t' * (width // TAB) + ' ' * (width % TAB) + part)
            else:
                lines[-1] += space + part
        if not parts:
            lines[-1] += tail
        self.add(*lines)

    def columns(self, line):
        return TAB * self.depth + len(line.expandtabs(TAB))

    def call(self, head, arguments, tail):
        """Adds a declaration or a call, with its arguments on as many lines as they need."""
        self.fill(head, arguments, ',', tail)

    def condition(self, head, parts, tail=''):
        """Adds "head (part || part)tail"."""
        self.fill(head + ' (', parts, ' ||', ')' + tail)

    def blank(self):
        if self.lines and self.lines[-1]:
            self.lines.append('')

    def __str__(self):
        return '\n'.join(self.lines) + '\n'
