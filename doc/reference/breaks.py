# SPDX-License-Identifier: BSD-3-Clause
"""Lets a browser break the names of files and of tests in tables, so that a table is no wider than
its page. The places are after the marks in such a name."""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

LONG = re.compile(r'\S{20,}')
MARK = re.compile(r'(?<=[/:._-])(?=[A-Za-z0-9])')


class Breaks(SphinxPostTransform):
    formats = ('html',)
    default_priority = 900

    def run(self, **_):
        for entry in self.document.findall(nodes.entry):
            for text in list(entry.findall(nodes.Text)):
                if LONG.search(text) and not isinstance(text.parent, nodes.raw):
                    text.parent.replace(text, self.pieces(str(text)))

    @staticmethod
    def pieces(text):
        """The text with a place for a break, <wbr>, between each two pieces."""
        marked = LONG.sub(lambda word: MARK.sub('\0', word.group()), text)
        result = []
        for piece in marked.split('\0'):
            result += [nodes.raw('', '<wbr>', format='html'), nodes.Text(piece)]
        return result[1:]


def setup(app):
    app.add_post_transform(Breaks)
    return {'parallel_read_safe': True}
