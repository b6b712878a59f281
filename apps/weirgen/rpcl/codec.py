# SPDX-License-Identifier: BSD-3-Clause
"""Writes the functions that encode and decode the types of a specification."""

import re

from rpcl import model, names
from rpcl.types import function_type, has_functions, limit_of, literal

U32_MAX = 0xffffffff
WORD_BYTES = {'int': 4, 'unsigned int': 4, 'bool': 4, 'hyper': 8, 'unsigned hyper': 8}
WORDS_MAX = 64 # integers for which an encoder reserves space at once


class Place:
    """An expression of C that denotes a value."""

    def __init__(self, text, is_pointer=False):
        self.text = text
        self.is_pointer = is_pointer

    def dot(self, name):
        return Place(self.text + ('->' if self.is_pointer else '.') + name)

    @property
    def address(self):
        return self.text if self.is_pointer else '&' + self.text

    @property
    def value(self):
        return '*' + self.text if self.is_pointer else self.text


class Pointee(Place):
    """The value to which a pointer of a typedef points: '*v' is the pointer."""

    def __init__(self, text):
        super().__init__(text, True)

    def dot(self, name):
        return Place('(%s)->%s' % (self.text, name))


class Writer:
    """Writes one function of one type. A subclass says what the function does."""

    def __init__(self, text, spec, bounds, kind):
        self.text = text
        self.spec = spec
        self.bounds = bounds
        self.kind = kind
        self.group = [] # expressions that were not written yet
        self.loops = 0

    def bound(self, kind):
        return self.bounds.of(kind, None)

    def flush(self):
        """Writes the expressions of the group. Each of them is true if it fails."""
        if self.group:
            self.text.condition('if', self.group)
            self.text.add('\treturn %s;' % self.error())
            self.group = []

    def check(self, *parts):
        self.group += parts

    def loop(self, count):
        """Opens a loop over the elements of an array. Returns the index."""
        self.flush()
        index = 'ijklmnopqrstuvw'[self.loops] if self.loops < 15 else 'i%d' % self.loops
        self.loops += 1
        self.text.add('for (uint32_t %s = 0; %s < %s; %s++) {' % (index, index, count, index))
        self.text.depth += 1
        return index

    def end_loop(self):
        self.flush()
        self.loops -= 1
        self.text.depth -= 1
        self.text.add('}')

    def write(self, kind, place):
        """Writes the code for a value of a type."""
        if isinstance(kind, model.Array):
            self.write_array(kind, place)
        elif isinstance(kind, model.Optional):
            self.write_optional(kind, place)
        elif isinstance(kind, model.Opaque):
            self.write_opaque(kind, place)
        else:
            self.write_named(function_type(kind), place)

    def begin(self, declarations):
        """Begins the body of a function. A declaration is written if the body uses its name."""
        self.text.add('{')
        self.text.depth += 1
        self.declarations = declarations
        self.first_line = len(self.text.lines)

    def end(self):
        body = '\n'.join(self.text.lines[self.first_line:])
        used = ['\t' + line for name, line in self.declarations
                if re.search(r'(?<![>.\w])(?<!struct )(?<!enum )%s\b' % name, body)]
        if used:
            self.text.lines[self.first_line:self.first_line] = used + ['']
        self.text.depth -= 1
        self.text.add('}')

    def write_members(self, kind, place):
        for member in kind.members:
            if member is not kind.tail:
                self.write_member(member, place)
        self.flush()

    def write_member(self, member, place):
        """Writes the code for a member, or an arm, of the structure at a place."""
        if not member.is_flat:
            self.write(member.type, place.dot(member.c_name))
            return
        kind = model.final(member.type)
        if isinstance(kind, model.Union):
            self.write_union(kind, place)
            return
        for part in kind.members:
            self.write_member(part, place)

    def write_body(self, kind, place):
        """Writes the code for a definition other than a list."""
        if isinstance(kind, model.Struct):
            self.write_members(kind, place)
        elif isinstance(kind, model.Union):
            self.write_union(kind, place)
        elif isinstance(kind, model.Enum):
            self.write_enum(kind, place)
        else:
            inner = kind.member.type
            if isinstance(inner, (model.Array, model.Opaque)) and inner.size:
                place = place.dot('items' if isinstance(inner, model.Array) else 'data')
            self.write(inner, place)
        self.flush()

    def write_union(self, kind, place):
        discriminant = place.dot(kind.discriminant.c_name)
        self.write(kind.discriminant.type, discriminant)
        self.flush()
        is_bool = getattr(model.final(kind.discriminant.type), 'kind', '') == 'bool'
        self.text.add('switch (%s%s) {' % ('(uint32_t)' if is_bool else '', discriminant.value))
        for values, arm in kind.cases + [(None, kind.default)]:
            if values:
                for value in values:
                    self.text.add('case %s:' % (value.number if is_bool else self.label(value)))
            else:
                self.text.add('default:')
            self.text.depth += 1
            if arm and arm.type:
                self.write_member(arm, place)
                self.flush()
            if arm:
                self.text.add('break;')
            else:
                self.no_arm()
            self.text.depth -= 1
        self.text.add('}')

    def label(self, value):
        return self.spec.value_names[value.text] if value.text[0].isalpha() else \
            str(value.number) if value.number < 0x80000000 else literal(value.number)

    def no_arm(self):
        self.text.add('return %s;' % self.error())

    @staticmethod
    def pointee(place):
        """Returns the place to which the pointer at a place points."""
        return Pointee(place.value) if place.is_pointer else Place(place.value, True)


def suffix_of(kind):
    return names.BASE[kind.kind][1]


class Getter(Writer):
    """Writes a decoder. If 'results' is set, it decodes results that have items."""

    def __init__(self, *args, results=False):
        super().__init__(*args)
        self.results = results
        self.needs_memory = self.bound(self.kind).needs_memory

    def error(self):
        return 'weir_xdr_get_error(arena)' if self.needs_memory else '-EBADMSG'

    def arguments(self, kind, place):
        bound = self.bound(kind)
        first = 'results' if self.results and bound.items != 0 else 'in'
        return ', '.join([first] + (['arena'] if bound.needs_memory else []) + [place.address])

    def write_named(self, kind, place):
        if isinstance(kind, model.Base):
            self.check('weir_xdr_get_%s(in, %s) != 0' % (suffix_of(kind), place.address))
            return
        variant = '_result' if self.results and self.bound(kind).items != 0 else ''
        self.check('%s_get%s(%s) != 0' % (kind.name, variant, self.arguments(kind, place)))

    def write_opaque(self, kind, place):
        if kind.size:
            call = 'weir_xdr_get_opaque_fixed(in, %s, %s)' % (place.value,
                                                              literal(kind.size.number))
        elif kind.is_inline:
            room = literal(kind.room.number) + ', ' if kind.room else ''
            call = 'weir_xdr_get_opaque%s(in, %s, %s%s, %s)' % (
                '_room' if room else '', place.dot('data').value, room, limit_of(kind),
                place.dot('len_bytes').address)
        elif kind.is_item and self.results:
            call = 'get_result_item(results, %s, %s)' % (place.address, limit_of(kind))
        else:
            which = 'item' if kind.is_item else 'string' if kind.is_string else 'opaque'
            call = 'weir_xdr_get_%s_view(in, %s, %s)' % (which, place.address, limit_of(kind))
        self.check(call + ' != 0')

    def write_array(self, kind, place):
        if kind.size:
            index = self.loop(literal(kind.size.number))
            self.write(kind.element, Place('%s[%s]' % (place.value, index)))
            self.end_loop()
            return
        low = max(self.bound(kind.element).low, 1)
        length, items = place.dot('len'), place.dot('items')
        self.check('weir_xdr_get_count(in, %s, %s, %s) != 0' % (
            length.address, limit_of(kind), literal(low)))
        self.flush()
        if not kind.is_inline:
            self.text.call('%s = (' % items.value + names.pointer_to(
                names.type_of(kind.element), '') + ')weir_xdr_arena_alloc(',
                ['arena', length.value, 'sizeof(%s[0])' % items.value], ');')
            self.check('%s == NULL' % items.value)
            self.flush()
        index = self.loop(length.value)
        self.write(kind.element, Place('%s[%s]' % (items.value, index)))
        self.end_loop()

    def write_optional(self, kind, place):
        self.check('weir_xdr_get_bool(in, &is_present) != 0')
        self.flush()
        self.text.add('%s = NULL;' % place.value, 'if (is_present) {')
        self.text.depth += 1
        self.allocate(place.value, kind)
        self.write(kind.element, self.pointee(place))
        self.flush()
        self.text.depth -= 1
        self.text.add('}')

    def allocate(self, pointer, kind):
        self.text.call('%s = (%s)weir_xdr_arena_alloc(' % (
            pointer, names.pointer_to(names.type_of(kind.element), '')),
            ['arena', '1', 'sizeof(*%s)' % pointer if pointer[0] != '*'
             else 'sizeof(*(%s))' % pointer], ');')
        self.check('%s == NULL' % pointer)
        self.flush()

    def write_enum(self, kind, place):
        self.check('weir_xdr_get_u32(in, &value) != 0')
        self.flush()
        self.text.add('switch ((int32_t)value) {')
        seen = set()
        for name, number in kind.numbers.items():
            if number not in seen:
                self.text.add('case %s:' % kind.c_name_of(name))
            seen.add(number)
        self.text.add('\t*%s = (enum %s)(int32_t)value;' % (place.text, kind.c_name),
                      '\treturn 0;', 'default:', '\treturn -EBADMSG;', '}')

    def write_function(self, name, is_static=False):
        """Writes the function of the type."""
        kind, text = self.kind, self.text
        if getattr(kind, 'tail', None):
            self.write_list(name, is_static)
            return
        text.blank()
        text.call('%sint %s(' % ('static ' if is_static else '', name), parameters(self), ')')
        self.begin(self.locals())
        self.write_body(kind, Place('v', True))
        if not isinstance(kind, model.Enum):
            text.add('return 0;')
        self.end()

    def locals(self):
        return ([('in', 'struct weir_xdr_in *in = results->in;')] if self.results else []) + [
            ('is_present', 'bool is_present;'), ('value', 'uint32_t value;')]

    def write_list(self, name, is_static):
        """Writes the functions of an entry of a list: for its members, for the entry after a bool,
        and for the list that begins with the entry. There is no recursion."""
        kind, text = self.kind, self.text
        next_name = 'v->' + kind.tail.c_name
        text.blank()
        text.comment('Decodes the members of an entry, except the pointer to the next entry.')
        text.call('static int %s_members(' % name, parameters(self), ')')
        self.begin(self.locals())
        self.write_members(kind, Place('v', True))
        text.add('return 0;')
        self.end()
        text.add('')
        text.call('%sint %s(' % ('static ' if is_static else '', name), parameters(self), ')')
        self.begin(self.locals())
        limit = model.final(kind.tail.type).limit
        head = 'for (uint32_t count = 1;; count++) {' if limit else 'for (;;) {'
        text.add(head)
        text.depth += 1
        first = 'results' if self.results else 'in'
        self.check('%s_members(%s, arena, v) != 0' % (name, first),
                   'weir_xdr_get_bool(in, &is_present) != 0')
        self.flush()
        text.add('%s = NULL;' % next_name, 'if (!is_present)', '\treturn 0;')
        if limit:
            text.add('if (count == %s)' % literal(limit.number), '\treturn -EBADMSG;')
        self.allocate(next_name, model.Optional(model.Ref(kind.name, None, target=kind)))
        text.add('v = %s;' % next_name)
        text.depth -= 1
        text.add('}')
        self.end()
        if not self.results:
            self.write_next(name)

    def write_next(self, name):
        kind, text = self.kind, self.text
        text.add('')
        text.call('int %s_get_next(' % kind.name, parameters(self) + ['bool *is_present'], ')')
        text.add('{')
        text.depth += 1
        text.add('v->%s = NULL;' % kind.tail.c_name)
        self.check('weir_xdr_get_bool(in, is_present) != 0',
                   '(*is_present && %s_members(in, arena, v) != 0)' % name)
        self.flush()
        text.add('return 0;')
        text.depth -= 1
        text.add('}')


def parameters(writer):
    """Returns the parameters of a decoder."""
    first = 'struct weir_xdr_in *in'
    if writer.results:
        first = 'struct weir_results *results'
    arena = ['struct weir_xdr_arena *arena'] if writer.needs_memory else []
    return [first] + arena + [pointer_parameter(writer.kind)]


def pointer_parameter(kind):
    """Returns the parameter 'v' of a function of a type."""
    return names.pointer_to(names.type_of(kind), 'v')


def const_parameter(kind):
    c_type = names.type_of(kind)
    final = kind.member.type if isinstance(kind, model.Typedef) else kind
    if isinstance(final, model.Optional):
        return '%s const *v' % c_type
    return 'const ' + pointer_parameter(kind)


class Putter(Writer):
    """Writes an encoder. 'target' says where items go: into the message (''), or by reference into
    a call ('call') or a reply ('reply')."""

    def __init__(self, *args, target=''):
        super().__init__(*args)
        self.target = target
        self.words = []

    def error(self):
        return 'weir_xdr_put_error(out)' if self.target or self.bound(self.kind).is_checked \
            else '-ENOSPC'

    def target_of(self, kind):
        return self.target if self.bound(kind).items != 0 else ''

    def words_of(self, kind, place):
        """Returns the integers of which a value consists, in their order, or None if it has other
        parts."""
        kind = function_type(kind) if isinstance(kind, (model.Ref, model.Base)) else kind
        if isinstance(kind, model.Enum) or isinstance(kind, model.Base) and kind.kind in WORD_BYTES:
            bits = 8 * WORD_BYTES.get(getattr(kind, 'kind', 'int'), 4)
            is_unsigned = getattr(kind, 'kind', '').startswith(('unsigned', 'bool'))
            cast = '' if is_unsigned else '(uint%d_t)' % bits
            return [(bits, cast + place.value)]
        if not isinstance(kind, model.Struct) or kind.tail:
            return None
        words = []
        for member in kind.members:
            part = self.words_of(member.type,
                                 place if member.is_flat else place.dot(member.c_name))
            if part is None or len(words) + len(part) > WORDS_MAX:
                return None
            words += part
        return words

    def write(self, kind, place):
        words = self.words_of(kind, place)
        if words is None:
            self.flush_words()
            super().write(kind, place)
        else:
            if len(self.words) + len(words) > WORDS_MAX:
                self.flush_words()
            self.words += words

    def flush(self):
        self.flush_words()
        super().flush()

    def flush_words(self):
        """Writes the integers that follow each other. The space for several of them is reserved at
        once."""
        words, self.words = self.words, []
        if len(words) < 2:
            self.check(*['weir_xdr_put_u%d(out, %s) != 0' % word for word in words])
            return
        super().flush()
        self.text.add('at = weir_xdr_reserve(out, %s);' % literal(sum(bits for bits, _ in words)
                                                                  // 8),
                      'if (!at)', '\treturn -ENOSPC;')
        offset = 0
        for bits, value in words:
            self.text.add('weir_xdr_store_u%d(at%s, %s);' % (
                bits, ' + %d' % offset if offset else '', value))
            offset += bits // 8

    def begin(self, declarations=()):
        super().begin([*declarations, ('at', 'uint8_t *at;')])

    def write_named(self, kind, place):
        if isinstance(kind, model.Base):
            self.check('weir_xdr_put_%s(out, %s) != 0' % (suffix_of(kind), place.value))
        elif isinstance(kind, model.Enum):
            self.check('weir_xdr_put_u32(out, (uint32_t)%s) != 0' % place.value)
        else:
            target = self.target_of(kind)
            first = {'': 'out', 'call': 'call, out', 'reply': 'req, out'}[target]
            self.check('%s_put%s(%s, %s) != 0' % (kind.name, target and '_' + target, first,
                                                  place.address))

    def write_opaque(self, kind, place):
        if kind.size:
            call = 'weir_xdr_put_opaque_fixed(out, %s, %s)' % (place.value,
                                                               literal(kind.size.number))
        elif kind.is_item and self.target:
            first = {'call': 'call', 'reply': 'req'}[self.target]
            call = 'put_%s_item(%s, out, %s, %s)' % (self.target, first, place.address,
                                                     limit_of(kind))
        else:
            limit = literal(kind.room.number) if kind.room else limit_of(kind)
            call = 'weir_xdr_put_opaque%s(out, %s, %s%s)' % (
                '_max' if kind.limit else '', place.dot('data').value,
                place.dot('len_bytes').value, ', ' + limit if kind.limit else '')
        self.check(call + ' != 0')

    def write_array(self, kind, place):
        count, items = literal(kind.size.number) if kind.size else '', place.value
        if not kind.size:
            count, items = place.dot('len').value, place.dot('items').value
            if kind.limit:
                self.check('%s > %s' % (count, limit_of(kind)))
            self.check('weir_xdr_put_u32(out, %s) != 0' % count)
        index = self.loop(count)
        self.write(kind.element, Place('%s[%s]' % (items, index)))
        self.end_loop()

    def write_optional(self, kind, place):
        self.check('weir_xdr_put_bool(out, %s != NULL) != 0' % place.value)
        self.flush()
        self.text.add('if (%s) {' % place.value)
        self.text.depth += 1
        self.write(kind.element, self.pointee(place))
        self.flush()
        self.text.depth -= 1
        self.text.add('}')

    def write_enum(self, kind, place):
        self.check('weir_xdr_put_u32(out, (uint32_t)%s) != 0' % place.value)

    def parameters(self):
        first = {'': [], 'call': ['struct weir_call *call'],
                 'reply': ['struct weir_request *req']}[self.target]
        return first + ['struct weir_xdr_out *out', const_parameter(self.kind)]

    def write_function(self, name, is_static=False):
        kind, text = self.kind, self.text
        if getattr(kind, 'tail', None):
            self.write_list(name, is_static)
            return
        text.blank()
        text.call('%sint %s(' % ('static ' if is_static else '', name), self.parameters(), ')')
        self.begin()
        self.write_body(kind, Place('v', True))
        text.add('return 0;')
        self.end()

    def write_list(self, name, is_static):
        kind, text = self.kind, self.text
        first = {'': 'out', 'call': 'call, out', 'reply': 'req, out'}[self.target]
        text.blank()
        text.comment('Encodes the members of an entry, except the pointer to the next entry.')
        text.call('static int %s_members(' % name, self.parameters(), ')')
        self.begin()
        self.write_members(kind, Place('v', True))
        text.add('return 0;')
        self.end()
        text.add('')
        text.call('%sint %s(' % ('static ' if is_static else '', name), self.parameters(), ')')
        text.add('{')
        text.depth += 1
        limit = model.final(kind.tail.type).limit
        text.add('for (uint32_t count = 1; v; v = v->%s, count++) {' % kind.tail.c_name
                 if limit else 'for (; v; v = v->%s) {' % kind.tail.c_name)
        text.depth += 1
        if limit:
            self.check('count > %s' % literal(limit.number))
        self.check('%s_members(%s, v) != 0' % (name, first),
                   'weir_xdr_put_bool(out, v->%s != NULL) != 0' % kind.tail.c_name)
        self.flush()
        text.depth -= 1
        text.add('}', 'return 0;')
        text.depth -= 1
        text.add('}')
        if not self.target:
            self.write_next(name)

    def write_next(self, name):
        text = self.text
        text.add('')
        text.call('int %s_put_next(' % self.kind.name, self.parameters(), ')')
        text.add('{')
        text.depth += 1
        self.check('weir_xdr_put_bool(out, true) != 0', '%s_members(out, v) != 0' % name)
        self.flush()
        text.add('return 0;')
        text.depth -= 1
        text.add('}')


class Sizer(Writer):
    """Writes the function that returns the size of a value in XDR."""

    def __init__(self, *args):
        super().__init__(*args)
        self.fixed = 0

    def flush(self):
        if self.fixed:
            self.text.add('bytes += %s;' % literal(self.fixed))
        self.fixed = 0
        self.text.add(*['bytes += %s;' % part for part in self.group])
        self.group = []

    def write_named(self, kind, place):
        bound = self.bound(kind)
        if bound.low == bound.high and bound.items == 0:
            self.fixed += bound.low
        else:
            self.check('%s_bytes(%s)' % (kind.name, place.address))

    def write_opaque(self, kind, place):
        if kind.size:
            self.fixed += self.bound(kind).low
        elif kind.is_item:
            self.check('weir_xdr_item_bytes(%s)' % place.address)
        else:
            self.check('weir_xdr_opaque_bytes(%s)' % place.dot('len_bytes').value)

    def write_array(self, kind, place):
        bound = self.bound(kind.element)
        is_fixed = bound.low == bound.high and bound.items == 0
        if kind.size and is_fixed:
            self.fixed += kind.size.number * bound.low
            return
        count, items = literal(kind.size.number) if kind.size else '', place.value
        if not kind.size:
            count, items = place.dot('len').value, place.dot('items').value
            self.fixed += 4
        if is_fixed:
            self.check('(size_t)%s * %s' % (count, literal(bound.low)))
            return
        index = self.loop(count)
        self.write(kind.element, Place('%s[%s]' % (items, index)))
        self.end_loop()

    def write_optional(self, kind, place):
        self.fixed += 4
        self.flush()
        self.text.add('if (%s) {' % place.value)
        self.text.depth += 1
        self.write(kind.element, self.pointee(place))
        self.flush()
        self.text.depth -= 1
        self.text.add('}')

    def write_enum(self, kind, place):
        self.fixed += 4

    def no_arm(self):
        self.text.add('break;')

    def write_function(self, name):
        kind, text = self.kind, self.text
        text.blank()
        text.call('size_t %s(' % name, [const_parameter(kind)], ')')
        text.add('{')
        text.depth += 1
        text.add('size_t bytes = 0;', '')
        if getattr(kind, 'tail', None):
            text.add('for (; v; v = v->%s) {' % kind.tail.c_name)
            text.depth += 1
            self.fixed += 4
            self.write_members(kind, Place('v', True))
            text.depth -= 1
            text.add('}')
        else:
            self.write_body(kind, Place('v', True))
        text.add('return bytes;')
        text.depth -= 1
        text.add('}')


def is_fixed_size(bound):
    return bound.low == bound.high and bound.items == 0


def declare(text, spec, bounds, kind):
    """Declares the functions of a type."""
    if not has_functions(kind):
        return
    bound = bounds.known[kind]
    text.blank()
    getter = Getter(text, spec, bounds, kind)
    text.call('int %s_get(' % kind.name, parameters(getter), ');')
    text.call('int %s_put(' % kind.name, Putter(text, spec, bounds, kind).parameters(), ');')
    if not is_fixed_size(bound):
        text.call('size_t %s_bytes(' % kind.name, [const_parameter(kind)], ');')
    if getattr(kind, 'tail', None):
        text.comment('The entry after its bool; for lists that are not in memory as a whole.')
        text.call('int %s_get_next(' % kind.name, parameters(getter) + ['bool *is_present'], ');')
        text.call('int %s_put_next(' % kind.name, Putter(text, spec, bounds, kind).parameters(),
                  ');')


def define(text, spec, bounds, kind):
    """Writes the functions of a type."""
    if not has_functions(kind):
        return
    Getter(text, spec, bounds, kind).write_function(kind.name + '_get')
    Putter(text, spec, bounds, kind).write_function(kind.name + '_put')
    if not is_fixed_size(bounds.known[kind]):
        Sizer(text, spec, bounds, kind).write_function(kind.name + '_bytes')
