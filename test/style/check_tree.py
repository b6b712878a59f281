#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks rules that apply to the text of files: licence lines, lengths, and forbidden calls and
words."""

import re

import tree

LINES_MAX = 600
COLUMNS_MAX = 100
TAB = 8
TAG = 'SPDX-License-Identifier: BSD-3-Clause'

# Folders of inputs for tests, whose bytes matter.
INPUTS = {'bad', 'corpus'}
# Kinds of files in which there can be no comment, by their names.
WITHOUT_COMMENTS = ('LICENSE', 'changelog', 'copyright', 'format')
WRITTEN_BY_TOOLS = ('.abi',) # by abidw

# The function to use instead of each banned one.
BANNED_EVERYWHERE = {
    'strcpy': 'snprintf', 'strcat': 'snprintf', 'sprintf': 'snprintf', 'vsprintf': 'vsnprintf',
    'gets': 'fgets', 'alloca': 'a bounded array',
}
BANNED_IN_LIBRARY = {
    'abort': 'an error code', 'assert': 'an error code, or _Static_assert', 'exit': 'an error code',
    '_exit': 'an error code', 'rte_panic': 'an error code', 'rte_exit': 'an error code',
    'RTE_VERIFY': 'an error code', 'printf': 'the log',
}
# lib/base/compiler.h has these. Installed headers cannot include it.
BANNED_ATTRIBUTES = {
    'always_inline': 'hot_inline', 'noinline': 'out_of_line', 'flatten': 'inline_callees',
    'cold': 'cold_code', 'unused': 'maybe_unused', 'format': 'printf_like()',
    'aligned': '_Alignas or aligned_to()',
}
# A URL or the name of a test cannot be wrapped. It may follow the marks of a comment or of a list.
ONE_WORD = re.compile(r'\s*(?:[#*-]+ +)*\S+')
# Written so that this file does not match itself.
UNFINISHED = re.compile(r'\b(TO' r'DO|FIX' r'ME|XX' r'X|HA' r'CK)\b')
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                               re.S)


def code_only(text):
    """Returns the text with comments and strings replaced by blanks, so that line numbers stay."""
    return COMMENT_OR_STRING.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), text)


def is_script(path, text):
    return not path.suffix and text.startswith('#!')


def check_licence(path, text):
    if path.name in WITHOUT_COMMENTS or path.suffix in WRITTEN_BY_TOOLS:
        return
    if TAG not in '\n'.join(text.splitlines()[:3]):
        yield 1, 'no line "%s" at the top' % TAG


def check_length(path, text):
    lines = text.count('\n')
    if path.suffix in ('.c', '.h') and lines > LINES_MAX:
        yield lines, 'over %d lines: a second concept is in there; give it a file' % LINES_MAX


def check_width(path, text):
    if path.suffix in WRITTEN_BY_TOOLS:
        return
    for number, line in enumerate(text.split('\n'), 1):
        if len(line.expandtabs(TAB)) > COLUMNS_MAX and not ONE_WORD.fullmatch(line):
            yield number, 'over %d columns: wrap it' % COLUMNS_MAX


def check_calls(path, text):
    if path.suffix not in ('.c', '.h'):
        return
    banned = dict(BANNED_EVERYWHERE)
    if path.parts[0] in ('lib', 'drivers'):
        banned.update(BANNED_IN_LIBRARY)
    for number, line in enumerate(code_only(text).split('\n'), 1):
        for name in re.findall(r'(?<![\w.>])(\w+)\s*\(', line):
            if name in banned:
                yield number, '%s(): use %s' % (name, banned[name])


def check_attributes(path, text):
    if path.suffix not in ('.c', '.h') or path.parts[:2] in (('lib', 'base'), ('lib', 'include')) \
            or path.parts[:3] == ('test', 'abi', 'headers-1'): # a copy of lib/include
        return
    for number, line in enumerate(code_only(text).split('\n'), 1):
        if '__builtin_expect' in line:
            yield number, '__builtin_expect(): use likely() or unlikely() of lib/base/compiler.h'
        for names in re.findall(r'__attribute__\s*\(\((.*?)\)\)', line):
            for name in re.findall(r'\w+', names):
                name = name.strip('_')
                if name in BANNED_ATTRIBUTES:
                    yield number, ('__attribute__((%s)): use %s (lib/base/compiler.h)'
                                   % (name, BANNED_ATTRIBUTES[name]))


def check_words(path, text):
    for number, line in enumerate(text.split('\n'), 1):
        match = UNFINISHED.search(line)
        if match:
            yield number, '%s: finish it, or describe the limit' % match.group()


def check_negation(path, text):
    """Finds commands that '!' inverts. 'set -e' ignores such a command, so that its line checks
    nothing. In a condition, the command does check."""
    if path.suffix != '.sh' and not (is_script(path, text) and 'sh' in text.split('\n', 1)[0]):
        return
    for number, line in enumerate(text.split('\n'), 1):
        if re.match(r'\s*! [^|&]*(\|[^|].*)?$', line):
            yield number, ('"! COMMAND" by itself can\'t fail: if COMMAND; then ..., or a function '
                           'that fails')


def check_sources(path, text):
    """Checks that a list of sources has one file in each line, so that a change to the list is one
    line of a diff."""
    if path.name != 'meson.build':
        return
    for number, line in enumerate(text.split('\n'), 1):
        if len(re.findall(r"'[^']*\.c'", line.split('#')[0])) > 1:
            yield number, 'several sources in one line: one in each'


def check_end(path, text):
    if text and not text.endswith('\n'):
        yield text.count('\n') + 1, 'no newline at the end'


def main():
    findings = []
    for path in tree.files():
        if INPUTS & set(path.parts) or path.name == '.gitignore':
            continue
        try:
            text = tree.text(path)
        except UnicodeDecodeError:
            findings.append('%s:1: no text: is it to be tracked?' % path)
            continue
        for check in (check_licence, check_length, check_width, check_calls, check_attributes,
                      check_words, check_negation, check_sources, check_end):
            findings += ['%s:%d: %s' % (path, number, what) for number, what in check(path, text)]
    tree.finish(findings, 'Each line says what to do.')


main()
