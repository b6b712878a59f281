#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that comments and pages are plain English. Some words are never used, sentences begin with
a subject, and sentences of pages are short. check_tree.py limits the width of lines."""

import re

import prose
import tree

WORDS_MAX = 35 # in a sentence of a page; doc/contributing.rst has the number, too

# Each word is wrong wherever it is used. The value is what to write instead.
BANNED = {
    r'told': 'is reported to, learns or is known by',
    r'tells': 'reports, says or identifies',
    r'tell of': 'report',
    r'had again': 'reused',
    r'had before': 'the previous one',
    r'(?:be|not|are|is) had': 'be available',
    r'stir(?:s|red|ring)?': 'become active',
    r'dry(?! run)': 'empty',
    r'shown': 'delivered (messages), exposed (memory), printed or described',
    r'remade': 'established again',
    r'lanes?': 'ring, queue or element',
    r'in the midst of|in their midst': 'during or within',
    r'in front of': 'before or above',
    r'made again': 'repeated or tried again',
    r'some(?= \d)': 'about',
    r'so as to': 'to',
    r'lets? go of': 'release or close',
    r'as before': 'what it is, without its history',
    r'says? no(?=[,.;:]| to| when)': 'fail or refuse',
    r'(?:or|and) (?:the|its) like': 'the names of the others',
    r'(?:is|are|was|were) to (?!the\b|an?\b|its\b)[a-z]+': 'must, will, should or can',
    r'there (?:is|are) to(?= [a-z])': 'that has to be',
    r'wherein|whereby|thereof|therein|thereby|hereby|herein|whence|thence|nought': 'plain words',
    r'(?P<double>the|an?|is|are|of|to|and|in|for|it|by|with|as|at|be) (?P=double)(?= )':
        'the word once',
}
BANNED_WORD = re.compile('|'.join(r'(?P<_%d>(?<![\w-])(?:%s)(?![\w-]))' % (number, pattern)
                                  for number, pattern in enumerate(BANNED)), re.I)

# Beginnings of sentences without a subject, or with a clause for it.
FRAGMENTS = {
    r'What\b': 'name the thing',
    r'Whether\b': 'say who checks it ("Returns whether ..."), or begin with "If"',
    r'(?:Which|Whose|Whom)\b': 'name the thing',
    r'One that\b': 'repeat the noun ("A call that ...")',
    r'Of (?:an?|one|what|which|whom|it|each|any)\b': 'begin with the subject ("A call has ...")',
    r'That (?:an?|the|no|it|they|each)\b': 'begin with the subject, and end with "that ..."',
    r'Else\b': 'write "Otherwise"',
}
FRAGMENT = re.compile('|'.join('(?P<_%d>%s)' % (number, pattern)
                               for number, pattern in enumerate(FRAGMENTS)))


def cure(match, table):
    """Returns what to write in place of the match."""
    for number, replacement in enumerate(table.values()):
        if match.group('_%d' % number):
            return replacement
    raise KeyError(match.group())


def check_banned(paragraph):
    for match in BANNED_WORD.finditer(paragraph.text):
        yield match.start(), '"%s": write %s' % (match.group(), cure(match, BANNED))


def check_sentences(paragraph, is_page):
    for offset, sentence in paragraph.sentences():
        match = FRAGMENT.match(sentence)
        if match and sentence.endswith('.'):
            yield offset, 'a sentence begins with "%s": %s' % (match.group(),
                                                               cure(match, FRAGMENTS))
        words = sum(1 for word in sentence.split() if re.search(r'\w', word))
        if is_page and words > WORDS_MAX:
            yield offset, 'a sentence of %d words: at most %d; divide it' % (words, WORDS_MAX)


def check(path, text):
    """Returns the findings in a file, as (line, what to write instead)."""
    for paragraph in prose.prose(path, text):
        found = [*check_banned(paragraph), *check_sentences(paragraph, path.suffix == '.rst')]
        yield from ((paragraph.line(offset), what) for offset, what in sorted(found))


def main():
    findings = []
    for path in tree.files():
        if 'corpus' in path.parts:
            continue
        findings += ['%s:%d: %s' % (path, number, what)
                     for number, what in check(path, tree.text(path))]
    tree.finish(findings, 'doc/contributing.rst has the rules for language.')


if __name__ == '__main__':
    main()
