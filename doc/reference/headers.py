# SPDX-License-Identifier: BSD-3-Clause
"""A directive that has the text at the top of a public header.

``.. weir-header:: engine.h`` stands for the first comment of weir/engine.h after the one with the
licence. Doxygen leaves this comment out. An indented block without list items is code."""

import pathlib
import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'lib' / 'include' / 'weir'
ITEM = re.compile(r' *- ')


def inline(text):
    """The nodes of a text. Names of weir and options of the build are literal."""
    pieces = re.split(r'(\bweir_\w+(?:\(\))?|-D\w+=\w+)', ' '.join(text.split()))
    return [nodes.literal(piece, piece) if number % 2 else nodes.Text(piece)
            for number, piece in enumerate(pieces) if piece]


def is_code(block):
    lines = block.splitlines()
    return all(line.startswith('  ') for line in lines) and not any(map(ITEM.match, lines))


def prose(block):
    """The nodes of a paragraph, which may end with list items."""
    text, *items = re.split(r'^ *- ', block, flags=re.M)
    if text.strip():
        yield nodes.paragraph('', '', *inline(text))
    if items:
        yield nodes.bullet_list('', *(nodes.list_item('', nodes.paragraph('', '', *inline(item)))
                                      for item in items), bullet='-')


def described(text):
    """The nodes of a comment."""
    result = []
    for block in re.split(r'\n\n+', text):
        if not is_code(block):
            result += prose(block)
        elif result and isinstance(result[-1], nodes.literal_block):
            code = result.pop().astext() + '\n\n' + block
            result.append(nodes.literal_block(code, code, language='none'))
        else:
            result.append(nodes.literal_block(block, block, language='none'))
    return result


class Header(SphinxDirective):
    required_arguments = 1

    def run(self):
        path = FOLDER / self.arguments[0]
        self.env.note_dependency(str(path))
        comment = re.search(r'^/\*(?! SPDX|\*)(.*?)\*/', path.read_text(encoding='utf-8'),
                            re.M | re.S)
        if not comment:
            raise self.error('%s: no text at the top' % path.name)
        return described(re.sub(r'^ \* ?', '', comment.group(1), flags=re.M).strip())


def setup(app):
    app.add_directive('weir-header', Header)
    return {'parallel_read_safe': True}
