# SPDX-License-Identifier: BSD-3-Clause
"""Writes the C types and the sizes of a specification."""

from rpcl import model, names
from rpcl.check import members_of

U32_MAX = 0xffffffff


def literal(number):
    """Returns a number as an integer constant of C."""
    if number < 0:
        return '(%d)' % number if number >= -0x80000000 else '(-%dll - 1)' % -(number + 1)
    return '%du' % number if number <= U32_MAX else '%dull' % number


def limit_of(kind):
    """Returns the C text of the largest length of a type."""
    return literal(kind.limit.number) if kind.limit else 'UINT32_MAX'


def write_constants(text, spec):
    for const in spec.consts:
        text.add('#define %s %s' % (const.c_name, literal(const.value.number)))
    text.blank()


def write_forward(text, spec):
    for kind in spec.types:
        if names_tag(kind):
            text.add('struct %s;' % kind.c_name)
    text.blank()


def names_tag(kind):
    return not isinstance(kind, model.Enum) and names.tagged(kind) == 'struct' or \
        isinstance(kind, model.Union)


def write_type(text, kind):
    text.blank()
    for member in members_with_parts(kind):
        text.add('struct %s {' % member.part_name(kind))
        text.depth += 1
        write_parts(text, member.type, 'data' if isinstance(member.type, model.Opaque)
                    else 'items')
        text.depth -= 1
        text.add('};', '')
    if isinstance(kind, model.Enum):
        text.add('enum %s {' % kind.c_name)
        for name, number in kind.numbers.items():
            text.add('\t%s = %s,' % (kind.c_name_of(name), number if number > -0x80000000
                                     else '-2147483647 - 1'))
        text.add('};')
    elif isinstance(kind, model.Typedef):
        write_typedef(text, kind)
    else:
        text.add('struct %s {' % kind.c_name)
        text.depth += 1
        avoided = {member.c_name for member in flat_members(kind)}
        if isinstance(kind, model.Struct) or kind.has_flat_arm:
            write_flat(text, kind, set(), avoided)
        else:
            write_union(text, kind, avoided)
        text.depth -= 1
        text.add('};')


def flat_members(kind):
    """Returns the members of the C structure of a structure or a union."""
    return [part for member in members_of(kind)
            for part in (flat_members(model.final(member.type)) if member.is_flat else [member])]


def write_flat(text, kind, written, avoided):
    """Writes the members of a structure or a union into the structure that contains them. Members
    of arms with the same name are one member. 'written' has the names of members before, and
    'avoided' those of all members."""
    for member in members_of(kind):
        if member.is_flat:
            write_flat(text, model.final(member.type), written, avoided)
        elif member.c_name not in written:
            written.add(member.c_name)
            write_member(text, kind, member, avoided)


def write_union(text, kind, avoided):
    write_member(text, kind, kind.discriminant, avoided)
    if not any(arm.type for arm in kind.arms()):
        return
    text.add('union {')
    text.depth += 1
    for values, arm in kind.cases + [(None, kind.default)]:
        if arm and arm.type:
            if values:
                text.comment('if %s is %s' % (kind.discriminant.c_name,
                                              ' or '.join(value.text for value in values)))
            else:
                text.comment('for other values of %s' % kind.discriminant.c_name)
            write_member(text, kind, arm, avoided)
    text.depth -= 1
    text.add('};')


def write_typedef(text, kind):
    inner = kind.member.type
    if names.is_wrapped(kind):
        text.add('struct %s {' % kind.c_name)
        text.depth += 1
        write_parts(text, inner, 'data' if isinstance(inner, model.Opaque) else 'items')
        text.depth -= 1
        text.add('};')
    elif isinstance(inner, model.Optional):
        text.add('typedef %s;' % names.pointer_to(names.type_of(inner.element), kind.c_name))
    else:
        text.add('typedef %s %s;' % (names.part_type(inner), kind.c_name))


def write_parts(text, kind, name, avoided=('len', 'items')):
    """Writes the members of an array, or of opaque data that are in the structure. 'avoided' are
    the members of the structure."""
    if isinstance(kind, model.Opaque):
        c_type = 'char' if kind.is_string else 'uint8_t'
        if kind.size:
            text.add('uint8_t %s[%d];' % (name, kind.size.number))
        else:
            text.add('uint32_t len_bytes; /* at most %d */' % kind.limit.number)
            if kind.room:
                text.comment('Longer data are not stored.')
            text.add('%s %s[%d];' % (c_type, name, max((kind.room or kind.limit).number, 1)))
        return
    element = names.type_of(kind.element, avoided)
    if kind.size:
        text.add('%s %s[%d];' % (element, name, kind.size.number))
        return
    text.add('uint32_t len;%s' % (' /* at most %d */' % kind.limit.number if kind.limit else ''))
    if kind.is_inline:
        text.add('%s %s[%d];' % (element, name, max(kind.limit.number, 1)))
    else:
        text.add('%s;' % names.pointer_to(element, name))


def has_parts(member):
    """Returns whether the C type of a member is a structure of a length and the elements."""
    kind = member.type
    return isinstance(kind, model.Array) and not kind.size or \
        isinstance(kind, model.Opaque) and kind.is_inline


def members_with_parts(kind):
    """Returns the members of a structure or a union for which has_parts() is true."""
    members = kind.members if isinstance(kind, model.Struct) else \
        kind.arms() if isinstance(kind, model.Union) else []
    return [member for member in members if has_parts(member)]


def write_member(text, parent, member, avoided):
    kind = member.type
    if member is getattr(parent, 'tail', None):
        text.add('struct %s *%s; /* the next entry; NULL at the end */' % (parent.c_name,
                                                                         member.c_name))
    elif isinstance(kind, model.Optional):
        text.add('%s; /* NULL: absent */' % names.pointer_to(
            names.type_of(kind.element, avoided), member.c_name))
    elif isinstance(kind, (model.Array, model.Opaque)) and kind.size:
        write_parts(text, kind, member.c_name, avoided)
    elif has_parts(member):
        text.add('struct %s %s;' % (member.part_name(parent), member.c_name))
    else:
        note = ''
        if isinstance(kind, model.Opaque) and kind.limit:
            note = ' /* at most %d bytes */' % kind.limit.number
        text.add('%s %s;%s' % (names.part_type(kind, avoided), member.c_name, note))


def has_functions(kind):
    """Returns whether a definition has its own functions. A typedef of a name has those of the
    name."""
    return not isinstance(kind, model.Typedef) or not isinstance(kind.member.type,
                                                                 (model.Base, model.Ref))


def function_type(kind):
    """Returns the definition whose functions are those of a type, or a Base."""
    while True:
        if isinstance(kind, model.Ref):
            kind = kind.target
        elif isinstance(kind, model.Typedef) and not has_functions(kind):
            kind = kind.member.type
        else:
            return kind


def memory_expression(memory):
    parts = ['%s * WEIR_XDR_ARENA_BYTES(%s * sizeof(%s))' % (
        literal(factor), literal(count), key if isinstance(key, str) else names.type_of(key))
             for (count, key), factor in memory.items()]
    return ' + \\\n\t '.join(parts)


def write_sizes(text, kind, bound):
    """Writes the macros of a type's sizes."""
    if not has_functions(kind):
        return
    if bound.high is not None and bound.high <= U32_MAX:
        text.add('#define %s_MAX_BYTES %s' % (kind.macro, literal(bound.high)))
    if bound.needs_memory and bound.memory is not None:
        text.add('#define %s_ARENA_BYTES \\' % kind.macro)
        text.add('\t(%s)' % (memory_expression(bound.memory) or '0u'))
