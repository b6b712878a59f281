# SPDX-License-Identifier: BSD-3-Clause
"""Computes the sizes of types: in XDR, in C and in the memory of a decoder, and the number of
DDP-eligible items."""

import dataclasses

from rpcl import model, names
from rpcl.model import InputError

C_BYTES_MAX = 65536 # of a structure: dispatchers have the arguments on their stack
ITEMS_MAX = 16 # weir/binding.h
BYTES_MAX = 0xffffffff
C_ALIGN_MAX = 8
C_SIZE = {'int': 4, 'unsigned int': 4, 'float': 4, 'hyper': 8, 'unsigned hyper': 8, 'double': 8,
          'bool': 1}
XDR_SIZE = dict(C_SIZE, bool=4)


@dataclasses.dataclass
class Bound:
    """Sizes of one type. None means that there is no limit. 'why' is the position of the reason."""
    low: int = 0 # bytes of XDR at least
    high: int = 0 # bytes of XDR at most, without the data of items
    items: int = 0
    c_size: int = 0
    c_align: int = 1
    needs_memory: bool = False # of an arena, to decode
    # Allocations from an arena: (count, key of the type) of each, and how often it occurs. Or
    # None.
    memory: dict = dataclasses.field(default_factory=dict)
    why: tuple = None
    is_checked: bool = False # an encoder can find the value invalid
    flat_size: int = 0 # in C at most, if the members are in another structure

    def add(self, other):
        """Adds a member that follows."""
        self.low += other.low
        self.high = plus(self.high, other.high)
        self.items = plus(self.items, other.items)
        self.c_align = max(self.c_align, other.c_align)
        self.c_size = -(-self.c_size // other.c_align) * other.c_align + other.c_size
        self.flat_size += other.c_size + C_ALIGN_MAX
        self.share(other)
        self.memory = join(self.memory, other.memory)

    def share(self, other):
        self.needs_memory |= other.needs_memory
        self.is_checked |= other.is_checked
        self.why = self.why or other.why

    def finish(self):
        self.c_size = -(-self.c_size // self.c_align) * self.c_align
        return self


def plus(left, right):
    return None if left is None or right is None else left + right


def times(factor, value):
    """Returns the product, or None if there is no limit or it is beyond all counts of XDR."""
    if value == 0:
        return 0
    if factor is None or value is None or factor * value > BYTES_MAX:
        return None
    return factor * value


def padded(length):
    return length + -length % 4


class Bounds:
    """The Bound of each definition of a Specification."""

    def __init__(self, spec):
        self.known = {}
        for kind in spec.types:
            bound = self.known[kind] = self.define(kind)
            if bound.c_size > C_BYTES_MAX:
                raise InputError(kind.position, "'%s' has %d bytes in C, and the limit is %d: use "
                                 'data of variable length that are not inline' % (
                                     kind.name, bound.c_size, C_BYTES_MAX))

    def of(self, kind, position):
        """Returns the Bound of a type. 'position' is that of the declaration."""
        if isinstance(kind, model.Ref):
            return self.of(kind.target, position)
        if isinstance(kind, model.Base):
            size = C_SIZE[kind.kind]
            return Bound(XDR_SIZE[kind.kind], XDR_SIZE[kind.kind], c_size=size, c_align=size)
        if isinstance(kind, model.Opaque):
            return self.of_opaque(kind, position)
        if isinstance(kind, model.Array):
            return self.of_array(kind, position)
        if isinstance(kind, model.Optional):
            return self.of_optional(kind, position)
        return self.known[kind]

    def of_member(self, member):
        """Returns the Bound of a member or an arm in the structure that contains it."""
        bound = self.of(member.type, member.position)
        return dataclasses.replace(bound, c_size=bound.flat_size) if member.is_flat else bound

    @staticmethod
    def of_opaque(kind, position):
        if kind.size:
            length = kind.size.number
            return Bound(padded(length), padded(length), c_size=length)
        limit = kind.limit and kind.limit.number
        bound = Bound(4, 4, is_checked=limit is not None, c_size=16, c_align=8)
        if kind.is_item:
            bound.items, bound.c_size = 1, 24
        elif limit is None:
            bound.high, bound.why = None, position
        else:
            bound.high += padded(limit)
        if kind.is_inline:
            room = kind.room.number if kind.room else limit
            bound.c_size, bound.c_align = 4 + padded(room), 4
        return bound

    def of_array(self, kind, position):
        element = self.of(kind.element, position)
        count = (kind.size or kind.limit) and (kind.size or kind.limit).number
        bound = Bound(c_align=element.c_align, is_checked=not kind.size)
        bound.share(element)
        bound.high, bound.items = times(count, element.high), times(count, element.items)
        bound.memory = multiply(count, element.memory)
        if kind.size:
            bound.low = count * element.low
            bound.c_size = count * element.c_size
            return bound
        if count is None:
            bound.why = position
        bound.low, bound.high = 4, plus(4, bound.high)
        if kind.is_inline:
            bound.c_size, bound.c_align = 4 + element.c_align + count * element.c_size, 8
        else:
            bound.c_size, bound.c_align, bound.needs_memory = 16, 8, True
            bound.memory = join(bound.memory, own_memory(count, kind.element))
        return bound

    def of_optional(self, kind, position):
        element = self.of(kind.element, position)
        bound = Bound(4, plus(4, element.high), element.items, 8, 8, True,
                      join(own_memory(1, kind.element), element.memory))
        bound.share(element)
        bound.needs_memory = True
        return bound

    def define(self, kind):
        if isinstance(kind, model.Enum):
            return Bound(4, 4, c_size=4, c_align=4)
        if isinstance(kind, model.Typedef):
            return dataclasses.replace(self.of(kind.member.type, kind.position))
        if isinstance(kind, model.Union):
            return self.define_union(kind)
        bound = Bound()
        for member in kind.members:
            if member is not kind.tail:
                bound.add(self.of_member(member))
        return self.define_list(kind, bound) if kind.tail else bound.finish()

    @staticmethod
    def define_list(kind, entry):
        """Turns the Bound of one entry into that of a list that begins with the entry."""
        limit = model.final(kind.tail.type).limit
        count = limit and limit.number
        bound = Bound(entry.low + 4, times(count, plus(entry.high, 4)), times(count, entry.items),
                      entry.c_size, entry.c_align, True)
        bound.memory = multiply(count, join(own_memory(1, kind), entry.memory))
        bound.share(entry)
        bound.is_checked |= count is not None
        if count is None:
            bound.why = bound.why or kind.tail.position
        bound.add(Bound(c_size=8, c_align=8))
        return bound.finish()

    def define_union(self, kind):
        bound = self.of(kind.discriminant.type, kind.discriminant.position)
        bound = dataclasses.replace(bound, is_checked=True)
        arms = [self.of_member(arm) for arm in kind.arms() if arm.type is not None]
        arms.append(Bound())
        body = Bound(c_size=max(arm.c_size for arm in arms), c_align=max(arm.c_align
                                                                         for arm in arms))
        for field in ('high', 'items'):
            values = [getattr(arm, field) for arm in arms]
            setattr(body, field, None if None in values else max(values))
        for arm in arms:
            body.memory = join(body.memory, arm.memory) # more than one arm needs
            body.share(arm)
        bound.flat_size = bound.c_size + sum(arm.c_size + C_ALIGN_MAX for arm in arms)
        if kind.has_flat_arm:
            body.c_size = bound.flat_size
        flat_size = bound.flat_size
        bound.add(body)
        return dataclasses.replace(bound.finish(), flat_size=flat_size)


def own_memory(count, element):
    return None if count is None else {(count, names.type_key(element)): 1}


def join(left, right):
    if left is None or right is None:
        return None
    joined = dict(left)
    for key, factor in right.items():
        joined[key] = joined.get(key, 0) + factor
    return joined


def multiply(factor, memory):
    if memory == {}:
        return {}
    if factor is None or memory is None or factor * max(memory.values()) > BYTES_MAX:
        return None
    return {key: factor * often for key, often in memory.items()}
