# SPDX-License-Identifier: BSD-3-Clause
"""Directives that draw pictures from text, as SVG in the page.

``.. sequence:: A, B, C`` draws messages between participants, from the top to the bottom. A line of
its content is ``A -> B: text`` for a message, ``A --> B: text`` for an answer or an event of a
driver, or ``A: text`` for what a participant does.

``.. cells::`` draws the cells of a ring. Its first line names the cells, with ``|`` between them; a
cell has up to three words, one below the other. Each further line is ``name: N`` for an arrow to
the cell with index N, counted from 0. An index may be the number of cells, which is the end."""

import re
from xml.sax.saxutils import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FONT = 'font-family="sans-serif" font-size="12"'
HEAD = ('<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" width="%d" height="%d" '
        'viewBox="0 0 %d %d"><defs><marker id="tip" markerWidth="9" markerHeight="8" refX="8" '
        'refY="4" orient="auto"><path d="M0,0 L9,4 L0,8 z" fill="#404040"/></marker></defs>')


class Diagram(SphinxDirective):
    has_content = True
    final_argument_whitespace = True

    def run(self):
        text = '\n'.join(self.content)
        width, height, parts = self.draw()
        head = HEAD % (escape(text.replace('\n', '; '), {'"': '&quot;'}), width, height, width,
                       height)
        svg = '<div class="diagram">%s%s</svg></div>\n' % (head, ''.join(parts))
        return [nodes.raw('', svg, format='html')]


def line(x1, y1, x2, y2, more=''):
    return ('<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#404040" %s/>' % (x1, y1, x2, y2, more))


def label(x, y, text, anchor='middle', more=''):
    return '<text x="%d" y="%d" text-anchor="%s" %s %s>%s</text>' % (x, y, anchor, FONT, more,
                                                                  escape(text))


def box(x, y, width, height, fill):
    return ('<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="#7090b0"/>'
            % (x, y, width, height, fill))


class Sequence(Diagram):
    required_arguments = 1
    LANE, TOP, STEP, SIDE = 210, 46, 34, 105
    LONGEST = 27  # characters of a name or a step, so that it is not cut off

    def draw(self):
        names = [name.strip() for name in self.arguments[0].split(',')]
        if any(len(name) > self.LONGEST for name in names):
            raise self.error('a name of more than %d characters' % self.LONGEST)
        at = {name: self.SIDE + i * self.LANE for i, name in enumerate(names)}
        rows = [row for row in self.content if row.strip()]
        width = 2 * self.SIDE + (len(names) - 1) * self.LANE
        height = self.TOP + self.STEP * len(rows) + 16
        parts = []
        for name, x in at.items():
            parts += [line(x, 34, x, height, 'stroke-opacity="0.4"'),
                      box(x - 92, 8, 184, 26, '#d8e8f6'), label(x, 25, name)]
        for i, row in enumerate(rows):
            parts += self.row(at, row, self.TOP + self.STEP * i + 22)
        return width, height, parts

    def row(self, at, row, y):
        found = re.fullmatch(r'(.+?) (-->|->) (.+?): (.*)', row)
        if found and found.group(1) in at and found.group(3) in at:
            x1, x2 = at[found.group(1)], at[found.group(3)]
            dashes = 'stroke-dasharray="5,3" ' if found.group(2) == '-->' else ''
            return [line(x1, y, x2, y, dashes + 'marker-end="url(#tip)"'),
                    label((x1 + x2) // 2, y - 5, found.group(4))]
        name, _, text = row.partition(': ')
        if name not in at or not text:
            raise self.error('neither a message nor a step: %s' % row)
        if len(text) > self.LONGEST:
            raise self.error('more than %d characters: %s' % (self.LONGEST, text))
        width = 12 + 7 * len(text)
        return [box(at[name] - width // 2, y - 16, width, 22, '#fdf3d8'), label(at[name], y, text)]


class Cells(Diagram):
    CELL, TOP, LEFT = 82, 8, 14

    def draw(self):
        rows = [row for row in self.content if row.strip()]
        cells = [cell.split() for cell in rows[0].split('|')]
        parts = []
        for i, words in enumerate(cells):
            fill = '#d8e8f6' if len(words) > 1 else '#ffffff'
            parts.append(box(self.LEFT + i * self.CELL, self.TOP, self.CELL, 56, fill))
            for n, word in enumerate(words):
                parts.append(label(self.LEFT + i * self.CELL + self.CELL // 2,
                                   self.TOP + 17 + 16 * n, word.replace('_', ' ')))
        for n, row in enumerate(rows[1:]):
            name, _, index = row.partition(': ')
            if not index.isdigit() or int(index) > len(cells):
                raise self.error('not the name and the index of a cell: %s' % row)
            x, y = self.LEFT + int(index) * self.CELL, self.TOP + 84 + 20 * n
            last = 2 * int(index) > len(cells)
            parts += [line(x, y, x, self.TOP + 58, 'marker-end="url(#tip)"'),
                      label(x + (-5 if last else 5), y, name, 'end' if last else 'start')]
        return 2 * self.LEFT + len(cells) * self.CELL, self.TOP + 76 + 20 * len(rows[1:]), parts


def setup(app):
    app.add_directive('sequence', Sequence)
    app.add_directive('cells', Cells)
    return {'parallel_read_safe': True}
