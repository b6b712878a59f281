# SPDX-License-Identifier: BSD-3-Clause
"""How the types of a specification are called in C."""

from rpcl import model

# The C type of each base type, and the functions that decode and encode it, without "weir_xdr_".
BASE = {
    'int': ('int32_t', 'i32'),
    'unsigned int': ('uint32_t', 'u32'),
    'hyper': ('int64_t', 'i64'),
    'unsigned hyper': ('uint64_t', 'u64'),
    'float': ('float', 'float'),
    'double': ('double', 'double'),
    'bool': ('bool', 'bool'),
}
# Names that .x files use without a definition, as the preprocessor's output of rpcgen knows them.
KNOWN = {
    'int32_t': 'int', 'uint32_t': 'unsigned int', 'int64_t': 'hyper', 'uint64_t': 'unsigned hyper',
    'u_int32_t': 'unsigned int', 'u_int64_t': 'unsigned hyper', 'u_int': 'unsigned int',
    'u_long': 'unsigned int', 'bool_t': 'bool',
}


def tagged(kind):
    """Returns the keyword of the C type of a definition, or None if it is a typedef name."""
    if isinstance(kind, model.Typedef):
        return 'struct' if is_wrapped(kind) else None
    return {model.Enum: 'enum', model.Struct: 'struct', model.Union: 'struct'}[type(kind)]


def is_wrapped(typedef):
    """Returns whether the C type of a typedef is a structure of its own: that of an array, or of
    opaque data in the structure."""
    kind = typedef.member.type
    return isinstance(kind, model.Array) or isinstance(kind, model.Opaque) and bool(
        kind.size or kind.is_inline)


def type_of(kind, avoided=()):
    """Returns the C type of a base type, of a definition or of a reference to it. A typedef name
    in 'avoided' is replaced by its type: in C++, a member of a class cannot have the name of a
    typedef that the class uses."""
    if isinstance(kind, model.Base):
        return BASE[kind.kind][0]
    target = kind.target if isinstance(kind, model.Ref) else kind
    if isinstance(target, model.Base):
        return BASE[target.kind][0]
    keyword = tagged(target)
    if keyword is None and target.c_name in avoided:
        inner = target.member.type
        if isinstance(inner, model.Optional):
            return pointer_to(type_of(inner.element, avoided), '')
        return part_type(inner, avoided)
    return '%s %s' % (keyword, target.c_name) if keyword else target.c_name


def part_type(kind, avoided=()):
    """Returns the C type of opaque data that are not in the structure, or of a name."""
    if not isinstance(kind, model.Opaque):
        return type_of(kind, avoided)
    return 'struct weir_xdr_' + ('item' if kind.is_item else
                                 'string' if kind.is_string else 'opaque')


def type_key(kind):
    """Returns a value that is equal for references to the same C type: its definition, or its
    name."""
    target = kind.target if isinstance(kind, model.Ref) else kind
    return BASE[target.kind][0] if isinstance(target, model.Base) else target


def is_scalar(kind):
    """Returns whether a type is a number in C, so that functions for it are those of weir/xdr.h."""
    return isinstance(model.final(kind), model.Base)


def pointer_to(c_type, name):
    return c_type + (name if c_type.endswith('*') else ' *' + name)
