# SPDX-License-Identifier: BSD-3-Clause
"""The differences of manual pages. They are built from the pages of programs alone, so that a
reference to another page names its file. A table of two columns is a list of terms, as man(1) sets
tables in narrow columns."""

import os

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform


def name_file(_app, _env, node, _content):
    if node['reftype'] != 'doc':
        return None
    return nodes.literal('', 'doc/%s.rst' % node['reftarget'])


def include(app, _doctree):
    """Let the page be in no table of contents."""
    app.env.metadata[app.env.docname]['orphan'] = True


class TermsOfTables(SphinxPostTransform):
    builders = ('man',)
    default_priority = 200

    def run(self, **_):
        for table in list(self.document.findall(nodes.table)):
            if len(list(table.findall(nodes.colspec))) == 2:
                table.replace_self(self.terms(table))

    @staticmethod
    def terms(table):
        """The rows below the head as a list of terms."""
        items = nodes.definition_list()
        for row in next(table.findall(nodes.tbody)).children:
            first, second = row.children
            term = nodes.term()
            for paragraph in first.children:
                term += paragraph.children
            items += nodes.definition_list_item('', term, nodes.definition('', *second.children))
        return items


def setup(app):
    if os.environ.get('WEIR_MAN'):
        app.connect('missing-reference', name_file)
        app.connect('doctree-read', include)
        app.add_post_transform(TermsOfTables)
    return {'parallel_read_safe': True}
