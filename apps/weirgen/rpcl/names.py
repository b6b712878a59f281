# SPDX-License-Identifier: BSD-3-Clause
"""The names of C: which are reserved, and how types and functions are called."""

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
RESERVED = frozenset('''
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool
break case catch char char8_t char16_t char32_t class compl concept const consteval constexpr
constinit const_cast continue co_await co_return co_yield decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public reflexpr
register reinterpret_cast requires restrict return short signed sizeof static static_assert
static_cast struct switch synchronized template this thread_local throw true try typedef typeid
typename union unsigned using virtual void volatile wchar_t while xor xor_eq
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t NULL errno unix linux
TRUE FALSE
'''.split())

# Names of parameters, variables and members in generated code, which a macro would replace.
LOCAL = frozenset('''
accept_stat all arena arg args bytes call cast codec complete conn count data decoder end errno
handle handlers i in is_exhausted is_present item items j k l len len_bytes max_bytes memory
memory_bytes name nitems non_idempotent nprocs nrooms out p params proc procs prog program rc region
reply reply_stat req result results room rooms server status stub ulb v value vers vers_high
vers_low weir
'''.split())


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


def type_of(kind):
    """Returns the C type of a base type, of a definition or of a reference to it."""
    if isinstance(kind, model.Base):
        return BASE[kind.kind][0]
    target = kind.target if isinstance(kind, model.Ref) else kind
    if isinstance(target, model.Base):
        return BASE[target.kind][0]
    keyword = tagged(target)
    return '%s %s' % (keyword, target.name) if keyword else target.name


def is_scalar(kind):
    """Returns whether a type is a number in C, so that functions for it are those of weir/xdr.h."""
    return isinstance(model.final(kind), model.Base)


def pointer_to(c_type, name):
    return c_type + (name if c_type.endswith('*') else ' *' + name)
