# SPDX-License-Identifier: BSD-3-Clause
"""Turns the text of an .x file into the definitions of model.py."""

import functools
import pathlib
import re

import lark

from rpcl import model
from rpcl.model import DISCRIMINANT, InputError

DEPTH_MAX = 16 # levels of types without names, one within the other
WORD = re.compile(r'[^\s,]+|,') # of an annotation
# The annotations. The value says whether a number follows.
MEMBER_NOTES = {'ddp': False, 'flat': False, 'inline': False, 'max': True, 'room': True}
PROCEDURE_NOTES = {'non_idempotent': False, 'args_max': True, 'results_max': True}
TERMINALS = {'NAME': 'a name', 'NUMBER': 'a number', 'ANNOTATION': 'an annotation',
             '$END': 'the end of the file', 'SEMICOLON': "';'", 'COMMA': "','", 'LPAR': "'('",
             'RPAR': "')'", 'LBRACE': "'{'", 'RBRACE': "'}'", 'LSQB': "'['", 'RSQB': "']'",
             'LESSTHAN': "'<'", 'MORETHAN': "'>'", 'EQUAL': "'='", 'COLON': "':'", 'STAR': "'*'"}
TYPE_TERMINALS = {'UNSIGNED', 'INT', 'HYPER', 'LONG', 'FLOAT', 'DOUBLE', 'QUADRUPLE', 'BOOL',
                  'SHORT', 'CHAR', 'ENUM', 'STRUCT', 'UNION', 'NAME'}
KEYWORDS = {
    'RFC 4506 section 6.4': '''bool case const default double quadruple enum float hyper int opaque
        string struct switch typedef union unsigned void'''.split(),
    'RFC 5531 section 12.3': ['program', 'version'],
    'as in rpcgen': ['char', 'long', 'short'],
}
UNSUPPORTED = {
    'quadruple': 'C has no such type',
    'short': "RFC 4506 has no such type; write 'int'",
    'char': "RFC 4506 has no such type; write 'int', or 'opaque' for bytes",
}


def at(token):
    return token.line, token.column


def describe(terminals):
    """Returns the terminals in words."""
    terminals = set(terminals)
    words = []
    if TYPE_TERMINALS <= terminals:
        terminals -= TYPE_TERMINALS
        words.append('a type')
    words += sorted(TERMINALS.get(name, "'%s'" % name.lower()) for name in terminals
                    if name not in ('ANNOTATION',))
    return ' or '.join(', '.join(words).rsplit(', ', 1))


def words_of(token):
    """Returns the words of an annotation, each with its position and the end of its entry."""
    head = token.index('weir:') + len('weir:')
    text = token[:-2]
    for match in WORD.finditer(text, head):
        line = token.line + text.count('\n', 0, match.start())
        begin = text.rfind('\n', 0, match.start())
        column = match.start() - begin if begin >= 0 else token.column + match.start()
        yield match.group(), (line, column)


def read_notes(tokens, known, which):
    """Returns the annotations, each with its position and its Value or None."""
    notes = {}
    for token in tokens:
        words = list(words_of(token)) or [('', (token.line, token.column))]
        while words:
            name, position = words.pop(0)
            if name not in known:
                raise InputError(position, "unknown annotation '%s' of %s: use %s" % (
                    name, which, ', '.join(sorted(known))))
            if name in notes:
                raise InputError(position, "the annotation '%s' occurs twice" % name)
            value = None
            if known[name]:
                if not words or words[0][0] in known or words[0][0] == ',':
                    raise InputError(position, "the annotation '%s' needs a number" % name)
                value = model.Value(*words.pop(0))
            notes[name] = position, value
            if words and words[0][0] == ',':
                words.pop(0)
    return notes


@lark.v_args(inline=True)
class Builder(lark.Transformer):
    """Makes definitions. lark calls it during the parse, so that it needs no recursion."""

    def start(self, *definitions):
        return list(definitions)

    def value(self, token):
        return model.Value(str(token), at(token))

    def const_def(self, name, value):
        return model.Const(str(name), value, at(name))

    def typedef_def(self, member):
        if member.type is None:
            raise InputError(member.position, "'void' has no name")
        return model.Typedef(member.name, member, member.position)

    def enum_def(self, name, body):
        return model.Enum(str(name), body, at(name))

    def struct_def(self, name, body):
        return model.Struct(str(name), body, at(name))

    def union_def(self, name, body):
        return model.Union(str(name), *body, at(name))

    def enum_body(self, *values):
        return list(values)

    def enumerator(self, name, value=None):
        return str(name), value, at(name)

    def struct_body(self, *members):
        for member in members:
            if member.type is None:
                raise InputError(member.position, "a member of a structure cannot be 'void'")
        return list(members)

    def union_body(self, discriminant, *arms):
        if discriminant.type is None:
            raise InputError(discriminant.position, DISCRIMINANT)
        arms = [arm for arm in arms if arm is not None]
        default = arms.pop() if isinstance(arms[-1], model.Member) else None
        return discriminant, arms, default

    def case_arm(self, *parts):
        return list(parts[:-1]), parts[-1]

    def case_label(self, value):
        return value

    def default_arm(self, member):
        return member

    def declaration(self, *parts):
        *notes, member = parts
        member.notes = read_notes(notes, MEMBER_NOTES, 'a declaration')
        return member

    def void_decl(self, token):
        return model.Member(None, None, at(token))

    def plain_decl(self, kind, name):
        return self.member(name, kind)

    def fixed_decl(self, kind, name, size):
        return self.member(name, model.Array(kind, size=size))

    def variable_decl(self, kind, name, limit=None):
        return self.member(name, model.Array(kind, limit=limit))

    def optional_decl(self, kind, name):
        return self.member(name, model.Optional(kind))

    def opaque_fixed_decl(self, name, size):
        return self.member(name, model.Opaque(size=size))

    def opaque_variable_decl(self, name, limit=None):
        return self.member(name, model.Opaque(limit=limit))

    def string_decl(self, name, limit=None):
        return self.member(name, model.Opaque(limit=limit, is_string=True))

    @staticmethod
    def member(name, kind):
        return model.Member(str(name), kind, at(name))

    def base_type(self, *tokens):
        words = [str(token) for token in tokens if token is not None]
        if words[-1] in UNSUPPORTED:
            raise InputError(at(tokens[0]), "the type '%s' is not supported: %s" % (
                words[-1], UNSUPPORTED[words[-1]]))
        name = {'unsigned': 'unsigned int'}.get(' '.join(words), ' '.join(words))
        return model.Base(name.replace('long', 'int'), at(tokens[0]))

    def named_type(self, *parts):
        name = [part for part in parts if part is not None][-1]
        return model.Ref(str(name), at(name))

    def anonymous_enum(self, body):
        return model.Enum(None, body, body[0][2])

    def anonymous_struct(self, body):
        return self.bounded(model.Struct(None, body, body[0].position), body)

    def anonymous_union(self, body):
        kind = model.Union(None, *body, body[0].position)
        return self.bounded(kind, [kind.discriminant, *kind.arms()])

    @staticmethod
    def bounded(kind, members):
        """Checks how deep types without names are within others."""
        kind.depth = 1 + max(getattr(getattr(member.type, 'element', member.type), 'depth', 0)
                             for member in members)
        if kind.depth > DEPTH_MAX:
            raise InputError(kind.position, 'more than %d types without names, one within the '
                             'other: give them names' % DEPTH_MAX)
        return kind

    def proc_type(self, kind):
        return kind

    def procedure(self, *parts):
        notes = [part for part in parts if getattr(part, 'type', None) == 'ANNOTATION']
        result, name, *args, value = parts[len(notes):]
        is_void = [isinstance(kind, lark.Token) for kind in args]
        if any(is_void) and len(args) > 1:
            raise InputError(at(args[is_void.index(True)]), "'void' is not the only argument")
        return model.Procedure(str(name), None if isinstance(result, lark.Token) else result,
                               [] if is_void[0] else args, value, at(name),
                               read_notes(notes, PROCEDURE_NOTES, 'a procedure'))

    def version(self, name, *parts):
        return model.Version(str(name), list(parts[:-1]), parts[-1], at(name))

    def program_def(self, name, *parts):
        return model.Program(str(name), list(parts[:-1]), parts[-1], at(name))


def syntax_error(error, source):
    """Returns the InputError for an error of lark."""
    cause = getattr(error, 'orig_exc', None) or error
    if isinstance(cause, InputError):
        return cause
    if isinstance(error, lark.UnexpectedCharacters):
        rest = source.text[error.pos_in_stream:]
        position = error.line, error.column
        if rest.startswith('/*'):
            return InputError(position, 'the comment has no end')
        if re.match(r'-?[0-9]', rest):
            return InputError(position, "'%s' is not a number" % re.match(r'-?\w+', rest).group())
        return InputError(position, 'unexpected character %r' % rest[0])
    if isinstance(error, lark.UnexpectedToken):
        token = error.token
        expected = describe(error.accepts or error.expected)
        if token.type == '$END':
            lines = source.text.rstrip().split('\n')
            return InputError((len(lines), len(lines[-1]) + 1),
                              'unexpected end of the file: expected %s' % expected)
        if token.type == 'ANNOTATION':
            return InputError(at(token), 'an annotation must precede a declaration or a procedure')
        for source_of_it, words in KEYWORDS.items():
            if token in words and 'a name' in expected and 'a type' not in expected and \
                    "'int'" not in expected: # after 'unsigned'
                return InputError(at(token), "'%s' is a keyword, which cannot be a name (%s)" % (
                    token, source_of_it))
        return InputError(at(token), "unexpected '%s': expected %s" % (token, expected))
    return None


@functools.lru_cache(maxsize=None)
def parser():
    """Returns the parser, and the lines that it skips: they are appended while it runs."""
    grammar = (pathlib.Path(__file__).parent / 'grammar.lark').read_text(encoding='utf-8')
    skipped = []

    def skip(token):
        skipped.append(token)
        return token

    return lark.Lark(grammar, parser='lalr', lexer='basic', transformer=Builder(),
                     maybe_placeholders=False,
                     lexer_callbacks={'PASS': skip, 'DIRECTIVE': skip}), skipped


def parse(source):
    """Returns the definitions of a source."""
    made, skipped = parser()
    skipped.clear()
    try:
        definitions = made.parse(source.text)
    except (lark.exceptions.LarkError, InputError) as error:
        source.take(skipped)
        found = error if isinstance(error, InputError) else syntax_error(error, source)
        if found is None:
            raise
        raise found from None
    source.take(skipped)
    return definitions
