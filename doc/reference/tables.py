# SPDX-License-Identifier: BSD-3-Clause
"""Directives that describe the keys of a profile and the counters of an engine.

``.. weir-keys:: SECTION`` describes the keys of one section. ``.. weir-counters:: GROUP`` describes
the counters of one group. Their tables are what print_keys.c and print_counters.c print, in the
folder that WEIR_TABLES names. A page refers to a key by :key:`credits`, and to a counter by
:counter:`calls_sent`.

It is an error if a section or a group is not on any page, and if a key or a counter has no
description."""

import os
import pathlib
import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

log = logging.getLogger(__name__)


def lines_of(name):
    path = pathlib.Path(os.environ['WEIR_TABLES']) / name
    return path.read_text(encoding='utf-8').splitlines()


def read_keys():
    """The fields of each key, by section."""
    sections = {}
    for line in lines_of('keys'):
        fields = dict(zip(('section', 'name', 'default', 'allowed', 'unit', 'memory',
                           'help'), line.split('\t')))
        sections.setdefault(fields['section'], []).append(fields)
    return sections


def compound_names():
    """The keys whose names are no words of English: texts refer to these by their names alone."""
    return {key['name'] for keys in read_keys().values() for key in keys if '_' in key['name']}


def read_counters():
    """(name, unit, description) of each counter, by group."""
    counters = {}
    for line in lines_of('counters'):
        group, *fields = line.split('\t')
        counters.setdefault(group.lower(), []).append(fields)
    return counters


def sentence(text):
    """The text with a capital at its start and a full stop. A first word that is a value keeps its
    letters."""
    if not re.match(r'\w+:', text):
        text = text[0].upper() + text[1:]
    return text if text.endswith('.') else text + '.'


def escaped(text):
    return re.sub(r'([\\*`|_])', r'\\\1', text)


def marked(text, names, own, values=()):
    """Text as reStructuredText. Names of keys are links. A value is literal where a colon and what
    it means follow."""
    def mark(match):
        word = match.group()
        if word == own or word[:-1] in values and word.endswith(':'):
            return '``%s``%s' % (word.rstrip(':'), ':' if word.endswith(':') else '')
        return ':key:`%s`' % word if word in names else escaped(word)

    own = own if own in names else None
    return re.sub(r'\w+:(?= )|\w+|\W+', mark, text)


def allowed(text):
    """Allowed values as reStructuredText. Words of a choice are literal."""
    if not re.fullmatch(r'\w+(, \w+)* or \w+', text):
        return escaped(text)
    return re.sub(r'\w+', lambda m: m.group() if m.group() == 'or' else '``%s``' % m.group(), text)


class Table(SphinxDirective):
    """The common part of both directives. 'kind' is the name of their tables in the environment."""

    required_arguments = 1
    final_argument_whitespace = True
    kind = ''

    def run(self):
        title = self.arguments[0]
        table = self.read()
        if title not in table:
            raise self.error('no such section or group: %s; known: %s' % (title, ', '.join(table)))
        described = self.described(self.env).setdefault(self.env.docname, [])
        described.append(title)
        node = nodes.container()
        node.document = self.state.document
        text = '\n'.join(self.text(table[title]))
        self.state.nested_parse(StringList(text.split('\n'), self.kind), 0, node)
        return node.children

    def missing(self, name):
        log.warning('%s: no description', name, location=self.get_location())

    @classmethod
    def described(cls, env):
        """The sections or groups that each page describes."""
        if not hasattr(env, 'weir_' + cls.kind):
            setattr(env, 'weir_' + cls.kind, {})
        return getattr(env, 'weir_' + cls.kind)

    @classmethod
    def check(cls, env):
        if not cls.described(env):
            log.warning('no page describes %s', cls.kind)
        titles = [title for page in cls.described(env).values() for title in page]
        for title in cls.read():
            if titles.count(title) != 1:
                log.warning('%s: %d pages describe %s', cls.kind, titles.count(title), title)


class Keys(Table):
    kind = 'keys'
    read = staticmethod(read_keys)

    def text(self, keys):
        names = compound_names()
        for key in keys:
            if not all(key.get(field) for field in ('allowed', 'unit', 'memory', 'help')):
                self.missing(key['name'])
                continue
            values = re.findall(r'\w+', key['allowed']) + ['0', '64k']
            yield '.. key:: %s = %s' % (key['name'], key['default'])
            yield ''
            yield '   Unit: %s. Allowed: %s. Default: %s.' % (
                key['unit'], allowed(key['allowed']),
                '``%s``' % key['default'] if key['default'] else 'empty')
            yield ''
            yield '   ' + marked(sentence(key['help']), names, key['name'], values)
            yield ''
            yield '   Effect on memory: ' + marked(key['memory'] + '.', names, key['name'], values)
            yield ''


class Counters(Table):
    kind = 'counters'
    read = staticmethod(read_counters)

    def text(self, counters):
        names = compound_names()
        yield from ('.. list-table::', '   :header-rows: 1', '   :widths: 30 15 55', '',
                    '   * - counter', '     - unit', '     - meaning')
        for name, unit, text in counters:
            if not text:
                self.missing(name)
                continue
            yield '   * - :counter-itself:`%s`' % name
            yield '     - ' + unit
            yield '     - ' + marked(sentence(text), names, name)


class CounterItself(SphinxRole):
    """The place that references to a counter lead to."""

    def run(self):
        place = 'counter-' + self.text.replace('_', '-')
        literal = nodes.literal(self.text, self.text, ids=[place])
        self.env.get_domain('std').note_object('counter', self.text, place, location=literal)
        return [literal], []


def key_signature(_env, text, node):
    """Show 'credits = 64', and call it credits."""
    name, default = (part.strip() for part in text.split('='))
    node += addnodes.desc_name(name, name)
    node += addnodes.desc_addname('', ' = ' + default)
    return name


def purge(_app, env, docname):
    for table in (Keys, Counters):
        table.described(env).pop(docname, None)


def check(_app, env):
    Keys.check(env)
    if 'statistics' in env.found_docs:
        Counters.check(env)


def setup(app):
    app.add_object_type('key', 'key', 'pair: %s; key of a profile', key_signature)
    app.add_object_type('counter', 'counter', 'pair: %s; counter')
    app.add_role('counter-itself', CounterItself())
    app.add_directive('weir-keys', Keys)
    app.add_directive('weir-counters', Counters)
    app.connect('env-purge-doc', purge)
    app.connect('env-check-consistency', check)
    return {'parallel_read_safe': False}
