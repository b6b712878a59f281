# SPDX-License-Identifier: BSD-3-Clause
"""The definitions and types of the RPC language (RFC 5531 section 12, RFC 4506 section 6)."""

import dataclasses

DISCRIMINANT = ('the discriminant of a union must be an int, an unsigned int, an enum or a bool '
                '(RFC 4506 section 6.4)')


class InputError(Exception):
    """An error in the input. The position is a (line, column) of the text, both from 1."""

    def __init__(self, position, message):
        super().__init__(message)
        self.position = position
        self.message = message


class Named:
    """A definition or a member, whose name in C can be another one."""
    renamed = None

    @property
    def c_name(self):
        return self.renamed or self.name


@dataclasses.dataclass(eq=False)
class Value:
    """A number, or the name of a constant or of an enumerator."""
    text: str
    position: tuple
    number: int = None


@dataclasses.dataclass(eq=False)
class Base:
    """A type without parts: its kind is one of the keys of names.BASE."""
    kind: str
    position: tuple = None


@dataclasses.dataclass(eq=False)
class Ref:
    """A type by its name. 'target' is the definition, which check.py finds."""
    name: str
    position: tuple
    keyword: str = None
    target: object = None


@dataclasses.dataclass(eq=False)
class Opaque:
    """Opaque data, or a string. 'size' is a fixed length. Otherwise 'limit' is the largest length,
    or None."""
    size: Value = None
    limit: Value = None
    is_string: bool = False
    is_item: bool = False # DDP-eligible
    is_inline: bool = False # the bytes are in the C structure
    room: Value = None # bytes in the C structure, if they are less than the limit


@dataclasses.dataclass(eq=False)
class Array:
    element: object
    size: Value = None
    limit: Value = None
    is_inline: bool = False


@dataclasses.dataclass(eq=False)
class Optional:
    """Optional data. 'limit' is the largest number of entries of the list to which they belong."""
    element: object
    limit: Value = None


@dataclasses.dataclass(eq=False)
class Member(Named):
    """A declaration: a member, an arm or the subject of a typedef. 'type' is None for void."""
    name: str
    type: object
    position: tuple
    notes: dict = dataclasses.field(default_factory=dict)
    part_renamed = None

    def part_name(self, parent):
        """Returns the name of the structure of the length and the elements in C."""
        return self.part_renamed or '%s_%s' % (parent.name, self.name)

    @property
    def is_flat(self):
        """Returns whether the parent has the members of the type, in place of this one."""
        return 'flat' in self.notes


class Type(Named):
    """A definition of a type. Its functions have its name in the .x file."""
    has_own_case = False # also in macros

    @property
    def macro(self):
        return self.name if self.has_own_case else self.name.upper()


@dataclasses.dataclass(eq=False)
class Enum(Type):
    name: str
    values: list # (name, Value or None, position)
    position: tuple
    numbers: dict = dataclasses.field(default_factory=dict)
    renamed_values: dict = dataclasses.field(default_factory=dict) # with another name in C

    def c_name_of(self, value):
        return self.renamed_values.get(value, value)


@dataclasses.dataclass(eq=False)
class Struct(Type):
    name: str
    members: list
    position: tuple
    tail: Member = None # the last member, if it makes the structure an entry of a list


@dataclasses.dataclass(eq=False)
class Union(Type):
    name: str
    discriminant: Member
    cases: list # ([Value], Member)
    default: Member
    position: tuple

    def arms(self):
        return [arm for _, arm in self.cases] + ([self.default] if self.default else [])

    @property
    def has_flat_arm(self):
        """Returns whether the arms are members of the C structure, without a C union."""
        return any(arm.is_flat for arm in self.arms())


@dataclasses.dataclass(eq=False)
class Typedef(Type):
    name: str
    member: Member
    position: tuple


@dataclasses.dataclass(eq=False)
class Const(Named):
    name: str
    value: Value
    position: tuple


@dataclasses.dataclass(eq=False)
class Procedure(Named):
    name: str
    result: object # None for void
    args: list
    value: Value
    position: tuple
    notes: dict = dataclasses.field(default_factory=dict)
    stem: str = None # of the names of functions
    macro: str = None # of the names of macros
    handler: str = None # the member of the handlers


@dataclasses.dataclass(eq=False)
class Version(Named):
    name: str
    procedures: list
    value: Value
    position: tuple
    prefix: str = None # of the names of functions


@dataclasses.dataclass(eq=False)
class Program(Named):
    name: str
    versions: list
    value: Value
    position: tuple


def final(kind):
    """Returns the type behind references to typedefs: a Base, Opaque, Array, Optional, Enum, Struct
    or Union."""
    while True:
        if isinstance(kind, Ref):
            kind = kind.target
        elif isinstance(kind, Typedef):
            kind = kind.member.type
        else:
            return kind
