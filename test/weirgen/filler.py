# SPDX-License-Identifier: BSD-3-Clause
"""Writes C that fills in pseudo-random values of the types of an .x file: those of weirgen's code
('weir'), or those of rpcgen's code ('tirpc'). Both take the same numbers in the same order, so that
equal seeds give equal values."""

from rpcl import model, names
from rpcl.check import members_of
from rpcl.codec import is_fixed_size
from rpcl.types import function_type, has_functions

LENGTH_MAX = 40 # of data without a limit
HEAD = '''
#include "values.h"

static uint64_t numbers_of(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 16;
}

static uint32_t below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)(numbers_of(state) % limit);
}

static void *take(size_t count, size_t size)
{
	void *at = values_memory + values_used;

	values_used += (count * size + 15) / 16 * 16;
	if (values_used > sizeof(values_memory))
		abort();
	memset(at, 0, count * size);
	return at;
}
'''


class Filler:
    """Writes the functions for one of the flavors."""

    def __init__(self, spec, flavor):
        self.spec = spec
        self.flavor = flavor
        self.lines = []
        self.depth = 1
        self.loops = 0

    def add(self, line):
        self.lines.append('\t' * self.depth + line)

    def weir(self):
        return self.flavor == 'weir'

    def name_of(self, named):
        """Returns the name of a member in C. rpcgen takes all names as they are."""
        return named.c_name if self.weir() else named.name

    def type_of(self, kind):
        """Returns the C type of a reference or a definition."""
        target = kind.target if isinstance(kind, model.Ref) else kind
        if self.weir():
            return names.type_of(kind)
        if isinstance(target, model.Base):
            return {'int': 'int', 'unsigned int': 'u_int', 'hyper': 'quad_t', 'bool': 'bool_t',
                    'unsigned hyper': 'u_quad_t'}.get(target.kind, target.kind)
        return target.name

    def fill(self, kind, place, parent=''):
        """Writes the code that fills in a value. 'parent' is the name of the declaration."""
        if isinstance(kind, model.Array):
            self.fill_array(kind, place, parent)
        elif isinstance(kind, model.Optional):
            self.fill_optional(kind, place)
        elif isinstance(kind, model.Opaque):
            self.fill_opaque(kind, place, parent)
        else:
            self.fill_named(function_type(kind), place)

    def fill_named(self, kind, place):
        if isinstance(kind, model.Base):
            c_type = names.BASE[kind.kind][0]
            if kind.kind == 'bool':
                self.add('%s = below(r, 2) != 0;' % place)
            else:
                self.add('%s = (%s)(numbers_of(r) << 8 | below(r, 256));' % (place, c_type))
        else:
            self.add('fill_%s(r, &%s, depth + 1);' % (kind.name, place))

    def fill_opaque(self, kind, place, parent):
        if kind.size:
            at = place + '.data' if self.weir() and parent == '.typedef' else place
            self.add('for (uint32_t n = 0; n < %d; n++)' % kind.size.number)
            self.add('\t(%s)[n] = (%s)below(r, 256);' % (at, 'uint8_t' if self.weir() else 'char'))
            return
        most = kind.room or kind.limit
        limit = min(most.number if most else LENGTH_MAX, LENGTH_MAX)
        self.add('{')
        self.depth += 1
        self.add('uint32_t length = below(r, %d);' % (limit + 1))
        self.add('char *bytes = (char *)take(length + 1, 1);')
        self.add('for (uint32_t n = 0; n < length; n++)')
        self.add('\tbytes[n] = (char)(1 + below(r, 255));')
        if self.weir():
            if kind.is_inline:
                self.add('memcpy(%s.data, bytes, length);' % place)
            else:
                self.add('%s.data = bytes;' % place)
            self.add('%s.len_bytes = length;' % place)
        elif kind.is_string:
            self.add('%s = bytes;' % place)
        else:
            stem = parent if parent != '.typedef' else self.typedef
            self.add('%s.%s_val = bytes;' % (place, stem))
            self.add('%s.%s_len = length;' % (place, stem))
        self.depth -= 1
        self.add('}')

    def fill_array(self, kind, place, parent):
        if kind.size:
            count = str(kind.size.number)
            items = place + '.items' if self.weir() and parent == '.typedef' else place
            if not self.weir() and parent == '.typedef':
                items = '(%s)' % place
        else:
            limit = min(kind.limit.number if kind.limit else 5, 5)
            stem = parent if parent != '.typedef' else getattr(self, 'typedef', None)
            length = place + ('.len' if self.weir() else '.%s_len' % stem)
            items = place + ('.items' if self.weir() else '.%s_val' % stem)
            self.add('%s = below(r, %d);' % (length, limit + 1))
            if not (self.weir() and kind.is_inline):
                self.add('%s = (%s *)take(%s, sizeof(*%s));' % (
                    items, self.type_of(kind.element), length, items))
            count = length
        index = 'i%d' % self.loops
        self.loops += 1
        self.add('for (uint32_t %s = 0; %s < %s; %s++) {' % (index, index, count, index))
        self.depth += 1
        self.fill(kind.element, '%s[%s]' % (items, index))
        self.depth -= 1
        self.add('}')

    def fill_optional(self, kind, place):
        self.add('%s = NULL;' % place)
        self.add('if (below(r, 4) != 0 && depth < 12) {')
        self.depth += 1
        self.add('%s = (%s *)take(1, sizeof(*%s));' % (place, self.type_of(kind.element), place))
        self.fill(kind.element, '(*%s)' % place)
        self.depth -= 1
        self.add('}')

    def fill_definition(self, kind):
        """Writes the function of a definition."""
        self.loops = 0
        c_type = self.type_of(kind)
        if not self.weir() and isinstance(kind, model.Typedef) and self.is_c_array(kind):
            self.lines.append('static void fill_%s(uint64_t *r, %s *v, uint32_t depth)'
                              % (kind.name, c_type))
        else:
            self.lines.append('static void fill_%s(uint64_t *r, %s, uint32_t depth)' % (
                kind.name, names.pointer_to(c_type, 'v')))
        self.lines += ['{', '\t(void)depth;']
        if isinstance(kind, model.Enum):
            values = [kind.c_name_of(value) if self.weir() else value for value in kind.numbers]
            self.add('static const int values[] = {%s};' % ', '.join(values))
            self.add('*v = (%s)values[below(r, %d)];' % (c_type, len(values)))
        elif isinstance(kind, model.Typedef):
            self.typedef = kind.name
            self.fill(kind.member.type, '(*v)', '.typedef')
        elif isinstance(kind, model.Struct):
            self.fill_members(kind, 'v->')
        else:
            self.fill_union(kind, 'v->')
        self.lines += ['}', '']

    def fill_members(self, kind, prefix):
        for member in kind.members:
            self.fill_member(member, prefix, '')

    def fill_member(self, member, prefix, union):
        """Fills in a member. The place of its structure is 'prefix'. 'union' is the place of the
        union of the arms in rpcgen's structure, or empty."""
        if not (self.weir() and member.is_flat):
            self.fill(member.type, prefix + ('' if self.weir() else union) + self.name_of(member),
                      member.name)
            return
        kind = model.final(member.type)
        self.add('{')
        self.depth += 1
        self.add('const uint32_t outer%d = depth;' % self.depth)
        self.add('const uint32_t inner%d = outer%d + 1;' % (self.depth, self.depth))
        self.add('{')
        self.depth += 1
        self.add('const uint32_t depth = inner%d;' % (self.depth - 1))
        self.add('(void)depth;')
        if isinstance(kind, model.Struct):
            self.fill_members(kind, prefix)
        else:
            self.fill_union(kind, prefix)
        for _ in range(2):
            self.depth -= 1
            self.add('}')

    @staticmethod
    def is_c_array(kind):
        inner = kind.member.type
        return isinstance(inner, (model.Array, model.Opaque)) and inner.size

    def fill_union(self, kind, prefix):
        choices = [(values[0], arm) for values, arm in kind.cases]
        choices += [(value, arm) for values, arm in kind.cases for value in values[1:]]
        other = self.other_value(kind)
        if kind.default and other is not None:
            choices.append((other, kind.default))
        self.add('switch (below(r, %d)) {' % len(choices))
        discriminant = prefix + self.name_of(kind.discriminant)
        for number, (value, arm) in enumerate(choices):
            self.add('case %d:' % number)
            self.depth += 1
            text = getattr(value, 'number', value)
            self.add('%s = (%s)%d%s;' % (discriminant, self.type_of(kind.discriminant.type), text,
                                         'u' if text > 0x7fffffff else ''))
            if arm.type is not None:
                self.fill_member(arm, prefix, '%s_u.' % kind.name)
            self.add('break;')
            self.depth -= 1
        self.add('}')

    @staticmethod
    def other_value(kind):
        """Returns a value of the discriminant for the default arm."""
        used = {value.number for values, _ in kind.cases for value in values}
        final = model.final(kind.discriminant.type)
        values = final.numbers.values() if isinstance(final, model.Enum) else range(99)
        return next((value for value in values if value not in used), None)

    def write(self):
        for kind in self.spec.types:
            if has_functions(kind):
                c_type = self.type_of(kind)
                self.lines.append('static void fill_%s(uint64_t *r, %s, uint32_t depth);' % (
                    kind.name, names.pointer_to(c_type, 'v')))
        self.lines.append('')
        for kind in self.spec.types:
            if has_functions(kind):
                self.fill_definition(kind)
        return HEAD + '\n'.join(self.lines)


def weir_functions(spec, bounds):
    """Returns the C functions that fill in, encode and decode values with weirgen's code."""
    lines = []
    kinds = [kind for kind in spec.types if has_functions(kind)]
    for kind in kinds:
        arena = '&arena, ' if bounds.known[kind].needs_memory else ''
        fixed = is_fixed_size(bounds.known[kind])
        c_type = names.type_of(kind)
        lines += [
            'static size_t encode_%s(uint64_t seed, uint8_t *to, size_t size)' % kind.name, '{',
            '\tstatic %s;' % ('%s v' % c_type), '\tstruct weir_xdr_out out;', '',
            '\tmemset(&v, 0, sizeof(v));', '\tfill_%s(&seed, &v, 0);' % kind.name,
            '\tweir_xdr_out_init(&out, to, size);',
            '\tif (%s_put(&out, &v) != 0)' % kind.name, '\t\treturn 0;',
            '\tif (weir_xdr_out_len(&out) != %s)' % (
                '%s_MAX_BYTES' % kind.macro if fixed else '%s_bytes(&v)' % kind.name),
            '\t\tabort();', '\treturn weir_xdr_out_len(&out);', '}', '',
            'static size_t recode_%s(const uint8_t *from, uint32_t bytes, uint8_t *to, size_t size)'
            % kind.name, '{', '\tstatic %s v;' % c_type, '\tstruct weir_xdr_in in;',
            '\tstruct weir_xdr_out out;', '\tstruct weir_xdr_arena arena;', '',
            '\tmemset(&v, 0xa5, sizeof(v));', '\tmemset(values_memory, 0x5a, 65536);',
            '\tweir_xdr_arena_init(&arena, values_memory, sizeof(values_memory));',
            '\tweir_xdr_in_init(&in, from, bytes);', '\tweir_xdr_out_init(&out, to, size);',
            '\tif (%s_get(&in, %s&v) != 0 || weir_xdr_remaining(&in) != 0 ||' % (kind.name, arena),
            '\t    %s_put(&out, &v) != 0)' % kind.name, '\t\treturn 0;',
            '\treturn weir_xdr_out_len(&out);', '}', '']
    return '\n'.join(lines) + table(kinds, 'weir')


def tirpc_functions(spec):
    """Returns the same with rpcgen's code."""
    lines = []
    kinds = [kind for kind in spec.types if has_functions(kind)]
    for kind in kinds:
        lines += [
            'static size_t encode_%s(uint64_t seed, uint8_t *to, size_t size)' % kind.name, '{',
            '\tstatic %s v;' % kind.name, '\tXDR xdrs;', '\tsize_t bytes = 0;', '',
            '\tmemset(&v, 0, sizeof(v));',
            '\tfill_%s(&seed, &v, 0);' % kind.name,
            '\txdrmem_create(&xdrs, (char *)to, (u_int)size, XDR_ENCODE);',
            '\tif (CALL(xdr_%s, &xdrs, &v))' % kind.name, '\t\tbytes = xdr_getpos(&xdrs);',
            '\txdr_destroy(&xdrs);', '\treturn bytes;', '}', '',
            'static size_t recode_%s(const uint8_t *from, uint32_t bytes, uint8_t *to, size_t size)'
            % kind.name, '{', '\tstatic %s v;' % kind.name, '\tXDR xdrs;', '\tbool_t ok;', '',
            '\tmemset(&v, 0, sizeof(v));',
            '\txdrmem_create(&xdrs, (char *)(uintptr_t)from, bytes, XDR_DECODE);',
            '\tok = CALL(xdr_%s, &xdrs, &v) && xdr_getpos(&xdrs) == bytes;' % kind.name,
            '\txdr_destroy(&xdrs);', '\tbytes = 0;',
            '\txdrmem_create(&xdrs, (char *)to, (u_int)size, XDR_ENCODE);',
            '\tif (ok && CALL(xdr_%s, &xdrs, &v))' % kind.name, '\t\tbytes = xdr_getpos(&xdrs);',
            '\txdr_destroy(&xdrs);',
            '\txdrs.x_op = XDR_FREE;', '\tCALL(xdr_%s, &xdrs, &v);' % kind.name,
            '\treturn bytes;', '}', '']
    return '\n'.join(lines) + table(kinds, 'tirpc')


def has_string(kind):
    """Returns whether a type contains a string. libtirpc ends strings at a NUL byte."""
    seen, stack = set(), [kind]
    while stack:
        kind = stack.pop()
        if isinstance(kind, model.Opaque) and kind.is_string:
            return True
        if kind in seen:
            continue
        seen.add(kind)
        if isinstance(kind, model.Ref):
            stack.append(kind.target)
        elif isinstance(kind, (model.Array, model.Optional)):
            stack.append(kind.element)
        else:
            stack += [member.type for member in members_of(kind)]
    return False


def table(kinds, flavor):
    rows = ['\t{"%s", encode_%s, recode_%s, %d},' % ((kind.name,) * 3 + (has_string(kind),))
            for kind in kinds]
    return '\n'.join(['const struct codec %s_codecs[] = {' % flavor] + rows +
                     ['\t{NULL, NULL, NULL, 0},', '};', ''])
