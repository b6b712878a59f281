# SPDX-License-Identifier: BSD-3-Clause
"""Finds what each name refers to, names the types that have none, and reports errors."""

import collections
import copy

from rpcl import model, names
from rpcl.model import DISCRIMINANT, InputError

U32_MAX = 0xffffffff
I32_MIN, I32_MAX = -0x80000000, 0x7fffffff
CONST_MIN, CONST_MAX = -(1 << 63), (1 << 64) - 1
PROCEDURE_MAX = 4095 # tables have an entry for each procedure number
DEFINITIONS_MAX = 5000


class Specification:
    """All definitions of a file, after the check."""

    def __init__(self):
        self.consts = []
        self.types = [] # Enum, Struct, Union and Typedef, each after the types that it contains
        self.programs = []
        self.values = {} # number of each constant and enumerator
        self.value_names = {} # their names in C, which c_names.py sets
        self.named = {} # position of each name of a constant, a type or a program


class Checker:
    def __init__(self):
        self.spec = Specification()
        self.by_name = {}
        self.generated = set() # names of types that have none in the file

    # ---- names ----

    def declare(self, name, position, section='RFC 4506 section 6.4'):
        """Enters a name into the scope of the file: those of constants, types and programs must
        differ."""
        if name in self.spec.named:
            line = self.spec.named[name][0]
            if name in self.generated:
                raise InputError(position, "'%s' is what the type without a name in line %d is "
                                 'called: give that type a name' % (name, line))
            raise InputError(position, "'%s' is already defined in line %d (%s)" % (
                name, line, section))
        self.spec.named[name] = position

    def declare_generated(self, name, position):
        """Enters the name of a type that has none in the file."""
        if name in self.spec.named:
            raise InputError(position, "this type would be called '%s', which line %d already "
                             'defines: give the type a name' % (name, self.spec.named[name][0]))
        self.generated.add(name)
        self.spec.named[name] = position

    def declare_all(self, definitions):
        if len(definitions) > DEFINITIONS_MAX:
            raise InputError(definitions[DEFINITIONS_MAX].position,
                             'more than %d definitions' % DEFINITIONS_MAX)
        for definition in definitions:
            if isinstance(definition, model.Program):
                self.declare(definition.name, definition.position, 'RFC 5531 section 12.3')
            else:
                self.declare(definition.name, definition.position)
            if isinstance(definition, model.Const):
                self.add_const(definition)
            elif isinstance(definition, model.Program):
                self.spec.programs.append(definition)
            else:
                self.add_type(definition)

    def add_type(self, kind):
        """Adds a definition, and first the types without names that it contains."""
        if isinstance(kind, model.Enum):
            self.add_enum(kind)
        for member in members_of(kind):
            self.name_types(member, kind.name)
        self.by_name[kind.name] = kind
        self.spec.types.append(kind)

    def name_types(self, member, prefix):
        """Names the type of a member, if it has no name, by the member."""
        holder = member
        if isinstance(member.type, (model.Array, model.Optional)):
            holder, attribute = member.type, 'element'
        else:
            attribute = 'type'
        kind = getattr(holder, attribute)
        if not isinstance(kind, (model.Enum, model.Struct, model.Union)):
            return
        kind.name = '%s_%s' % (prefix, member.name)
        self.declare_generated(kind.name, kind.position)
        self.add_type(kind)
        setattr(holder, attribute, model.Ref(kind.name, kind.position, target=kind))

    # ---- values ----

    def number(self, value, low, high, what):
        """Returns the number of a Value, which must be from 'low' to 'high'."""
        if value.number is None:
            value.number = self.parse_number(value)
        if not low <= value.number <= high:
            raise InputError(value.position, '%s must be from %d to %d, and %s is %d' % (
                what, low, high, value.text, value.number)
                if not value.text.lstrip('-')[0].isdigit() else
                '%s must be from %d to %d' % (what, low, high))
        return value.number

    def parse_number(self, value):
        text = value.text
        digits = text.lstrip('-')
        if not digits[:1].isdigit():
            if text not in self.spec.values:
                raise InputError(value.position, "'%s' is not a constant that was defined before"
                                 % text)
            return self.spec.values[text]
        if len(digits) > 24:
            raise InputError(value.position, 'the number has too many digits')
        try:
            if digits[:2] in ('0x', '0X'):
                number = int(digits, 16)
            else:
                number = int(digits, 8 if digits[0] == '0' else 10)
        except ValueError:
            what = 'an octal number' if digits.isdigit() else 'a number'
            raise InputError(value.position, "'%s' is not %s" % (text, what)) from None
        return -number if text[0] == '-' else number

    def add_const(self, const):
        self.spec.values[const.name] = self.number(const.value, CONST_MIN, CONST_MAX, 'a constant')
        self.spec.consts.append(const)

    def add_enum(self, enum):
        following = 0
        for name, value, position in enum.values:
            self.declare(name, position)
            if value is None:
                value = model.Value(str(following), position)
            number = self.number(value, I32_MIN, I32_MAX, 'the value of an enumerator')
            self.spec.values[name] = enum.numbers[name] = number
            following = number + 1

    # ---- types ----

    def resolve(self, kind):
        """Finds the targets of the references in a type."""
        if isinstance(kind, model.Ref) and kind.target is None:
            if kind.name in self.by_name:
                kind.target = self.by_name[kind.name]
            elif kind.name in names.KNOWN:
                kind.target = model.Base(names.KNOWN[kind.name], kind.position)
            else:
                raise InputError(kind.position, "the type '%s' is not defined" % kind.name)
        elif isinstance(kind, (model.Array, model.Optional)):
            self.resolve(kind.element)
        if isinstance(kind, (model.Array, model.Opaque)):
            if kind.size:
                self.number(kind.size, 1, U32_MAX, 'a size')
            if kind.limit:
                self.number(kind.limit, 0, U32_MAX, 'a limit')

    def check_type(self, kind):
        used = {}
        for member in members_of(kind):
            if member.name in used:
                raise InputError(member.position, "the member '%s' is already in line %d (RFC 4506 "
                                 'section 6.4)' % (member.name, used[member.name]))
            used[member.name] = member.position[0]
            self.resolve(member.type)
        if isinstance(kind, model.Union):
            self.check_union(kind)

    def apply_notes(self, member):
        kind = member.type
        for name, (position, value) in member.notes.items():
            if name == 'max':
                self.apply_max(kind, position, value)
            elif name == 'room':
                self.apply_room(kind, position, value)
            elif name == 'inline':
                if not isinstance(kind, (model.Array, model.Opaque)) or kind.size:
                    raise InputError(position, "'inline' is for arrays and opaque data of variable "
                                     'length')
                kind.is_inline = True
            elif name == 'ddp':
                final = model.final(kind)
                if not isinstance(final, model.Opaque) or final.size or final.is_inline or \
                        'inline' in member.notes or 'room' in member.notes:
                    raise InputError(position, "'ddp' is for opaque data and strings of variable "
                                     "length that are not 'inline'")
                member.type = copy.copy(final)
                member.type.is_item = True
        kind = member.type
        if isinstance(kind, (model.Array, model.Opaque)) and kind.is_inline and not kind.limit:
            raise InputError(member.notes['inline'][0], "'inline' needs a limit")

    def apply_max(self, kind, position, value):
        has_limit = getattr(kind, 'limit', None) is not None or getattr(kind, 'size', None)
        if not isinstance(kind, (model.Array, model.Opaque, model.Optional)) or has_limit:
            raise InputError(position, "'max' is for data of variable length without a limit, and "
                             'for lists')
        self.number(value, 0 if not isinstance(kind, model.Optional) else 1, U32_MAX, 'a limit')
        kind.limit = value

    def apply_room(self, kind, position, value):
        if not isinstance(kind, model.Opaque) or not kind.limit:
            raise InputError(position, "'room' is for opaque data and strings with a limit")
        self.number(value, 1, kind.limit.number, 'the room')
        kind.room, kind.is_inline = value, True

    def check_union(self, union):
        kind = model.final(union.discriminant.type)
        if isinstance(kind, model.Enum):
            allowed = set(kind.numbers.values())
        elif isinstance(kind, model.Base) and kind.kind in ('int', 'unsigned int', 'bool'):
            allowed = {'int': range(I32_MIN, I32_MAX + 1), 'bool': range(2),
                       'unsigned int': range(U32_MAX + 1)}[kind.kind]
        else:
            raise InputError(union.discriminant.position, DISCRIMINANT)
        used = {}
        for values, _ in union.cases:
            for value in values:
                if kind.kind == 'bool' if isinstance(kind, model.Base) else False:
                    value.number = {'TRUE': 1, 'FALSE': 0}.get(value.text)
                number = self.number(value, I32_MIN, U32_MAX, 'the value of a case')
                if number not in allowed:
                    raise InputError(value.position, "'%s' is not a value of the discriminant "
                                     '(RFC 4506 section 6.4)' % value.text)
                if number in used:
                    raise InputError(value.position, "the value '%s' is already in line %d (RFC "
                                     '4506 section 6.4)' % (value.text, used[number]))
                used[number] = value.position[0]

    # ---- order ----

    def find_tails(self):
        """Finds the structures that are entries of lists: optional data of the structure itself are
        the last member."""
        for kind in self.spec.types:
            if isinstance(kind, model.Struct):
                last = model.final(kind.members[-1].type)
                if isinstance(last, model.Optional) and model.final(last.element) is kind:
                    kind.tail = kind.members[-1]
                    if len(kind.members) == 1:
                        raise InputError(kind.position, 'the entries of the list have no data')

    @staticmethod
    def edges(kind):
        """Returns (definition, position of the reference) for the types that a type contains. The
        next entry of a list is none of them: a pointer to it needs no definition before."""
        for member in members_of(kind):
            part = member.type
            while isinstance(part, (model.Array, model.Optional)):
                part = part.element
            if member is not getattr(kind, 'tail', None) and isinstance(part, model.Ref) and \
                    not isinstance(part.target, model.Base):
                yield part.target, part.position

    def sort(self):
        """Orders the types so that each is after the types that it contains. There is no recursion,
        neither here nor, after this function, in the types."""
        order, state = [], {}
        for root in self.spec.types:
            stack = [(root, self.edges(root))] if root not in state else []
            state.setdefault(root, 'open')
            while stack:
                kind, rest = stack[-1]
                for target, position in rest:
                    if target not in state:
                        state[target] = 'open'
                        stack.append((target, self.edges(target)))
                        break
                    if state[target] == 'open':
                        raise InputError(position, "'%s' contains itself: only lists may do so, by "
                                         'optional data as the last member of a structure'
                                         % target.name)
                else:
                    state[kind] = 'done'
                    order.append(kind)
                    stack.pop()
        self.spec.types = order

    # ---- programs ----

    def check_programs(self):
        numbers = {}
        for program in self.spec.programs:
            number = self.number(program.value, 0, U32_MAX, 'a program number')
            scope = Scope('version', 'this program')
            for version in program.versions:
                self.number(version.value, 0, U32_MAX, 'a version number')
                scope.enter(version)
                other = numbers.setdefault((number, version.value.number), program)
                if other is not program:
                    raise InputError(program.value.position, "the program '%s' also has this "
                                     'number and a version %d' % (other.name,
                                                                  version.value.number))
                procedures = Scope('procedure', 'this version')
                for procedure in version.procedures:
                    self.number(procedure.value, 0, PROCEDURE_MAX, 'a procedure number')
                    procedures.enter(procedure)
        self.name_versions()
        self.name_procedures()
        for program in self.spec.programs:
            for version in program.versions:
                for procedure in version.procedures:
                    self.check_signature(procedure)

    def name_versions(self):
        """Chooses the names of functions of versions: the version's name in lower case. If another
        version has this name, the program's name precedes it. If that does not suffice, it is not
        in lower case."""
        entries = [(program, version) for program in self.spec.programs
                   for version in program.versions]
        wanted = []
        for program, version in entries:
            full = '%s_%s' % (program.name, version.name)
            wanted.append([version.name.lower(), full.lower(), full])
        for (_, version), name in zip(entries, choose(wanted)):
            version.prefix = name

    def name_procedures(self):
        """Chooses the names of functions of procedures in the same way, with the version's number
        at the end, and the names of their handlers."""
        entries = [(program, version, procedure) for program in self.spec.programs
                   for version in program.versions for procedure in version.procedures]
        wanted = []
        for program, version, procedure in entries:
            short = '%s_%d' % (procedure.name, version.value.number)
            full = '%s_%s' % (program.name, short)
            wanted.append([short.lower(), full.lower(), full])
        for (_, _, procedure), name, names_of_it in zip(entries, choose(wanted), wanted):
            procedure.stem = name
            procedure.macro = name if name == names_of_it[2] else name.upper()
        for program in self.spec.programs:
            for version in program.versions:
                self.name_handlers(version)

    @staticmethod
    def name_handlers(version):
        """Chooses the members of the handlers' structure: the procedure's name in lower case, or as
        it is if procedures differ only in case."""
        wanted = [[procedure.name.lower(), procedure.name] for procedure in version.procedures]
        for procedure, name in zip(version.procedures, choose(wanted)):
            procedure.handler = name

    def check_signature(self, procedure):
        """Turns the arguments and the result of a procedure into one Ref or Base each, or None."""
        stem = procedure.stem
        members = [model.Member('arg%d' % number, kind, procedure.position)
                   for number, kind in enumerate(procedure.args, 1)]
        if len(members) > 1:
            struct = model.Struct(None, members, procedure.position)
            members = [model.Member('arguments', struct, procedure.position)]
        for member in members:
            self.name_types(member, stem)
        result = model.Member('result', procedure.result, procedure.position)
        self.name_types(result, stem)
        procedure.args = members[0].type if members else None
        procedure.result = result.type
        for _, value in procedure.notes.values():
            if value:
                self.number(value, 0, I32_MAX, 'a limit')


class Scope:
    """The names and numbers of the versions of a program, or of the procedures of a version."""

    def __init__(self, what, where):
        self.what = what
        self.where = where
        self.lines = {}
        self.numbers = {}

    def enter(self, definition):
        number = definition.value.number
        if definition.name in self.lines:
            raise InputError(definition.position, "the %s '%s' is already in %s, in line %d (RFC "
                             '5531 section 12.3)' % (self.what, definition.name, self.where,
                                                     self.lines[definition.name]))
        if number in self.numbers:
            raise InputError(definition.value.position, 'the %s number %d is that of %s (RFC 5531 '
                             'section 12.3)' % (self.what, number, self.numbers[number]))
        self.lines[definition.name] = definition.position[0]
        self.numbers[number] = definition.name


def choose(wanted):
    """Returns one name for each list of names, in order. It is the first name of the list that no
    other list has at the same time. If all are taken, it is the last one."""
    at = [0] * len(wanted)
    while True:
        chosen = [names_of_it[level] for names_of_it, level in zip(wanted, at)]
        often = collections.Counter(chosen)
        again = [number for number, name in enumerate(chosen)
                 if often[name] > 1 and at[number] + 1 < len(wanted[number])]
        if not again:
            return chosen
        for number in again:
            at[number] += 1


def members_of(kind):
    """Returns the members of a definition that are not void."""
    if isinstance(kind, model.Struct):
        return kind.members
    if isinstance(kind, model.Typedef):
        return [kind.member]
    if isinstance(kind, model.Union):
        return [kind.discriminant] + [arm for arm in kind.arms() if arm.type is not None]
    return []


def c_type_of(kind, member):
    """Returns a value that is equal for members of the same C type."""
    part = member.type
    if isinstance(part, (model.Ref, model.Base)):
        return names.type_of(part)
    if isinstance(part, model.Opaque) and not part.is_inline:
        return part.size and part.size.number, part.is_item, part.is_string
    return kind.name, member.name


def check(definitions):
    """Returns the Specification of definitions."""
    checker = Checker()
    checker.declare_all(definitions)
    checker.check_programs()
    spec = checker.spec
    for kind in spec.types:
        checker.check_type(kind)
    for program in spec.programs:
        for version in program.versions:
            for procedure in version.procedures:
                for kind in (procedure.args, procedure.result):
                    checker.resolve(kind)
    check_aliases(spec)
    for kind in spec.types:
        for member in members_of(kind):
            checker.apply_notes(member)
    checker.find_tails()
    checker.sort()
    check_flat(spec)
    return spec


def check_flat(spec):
    """Checks that no two members of a structure or union have the same name in C, where a flat
    member stands for the members of its type. Arms of a union that has a flat arm can share a
    member."""
    found = {} # of each definition: name -> (C type, line)
    for kind in spec.types:
        used = found[kind] = {}
        first = getattr(kind, 'discriminant', None)
        shares = isinstance(kind, model.Union) and kind.has_flat_arm
        for member in members_of(kind):
            own = {member.c_name: (c_type_of(kind, member), member.position[0])}
            if member.is_flat:
                own = flat_target(kind, member, found)
            for name, (c_type, line) in own.items():
                before = used.setdefault(name, (c_type, line, member))
                if before[2] is member:
                    continue
                if not shares or before[2] is first or before[0] != c_type:
                    raise InputError(member.position, "the member '%s' of '%s' is already in "
                                     'line %d' % (name, member.name, before[1])
                                     if member.is_flat else "the member '%s' is already in "
                                     'line %d' % (name, before[1]))


def flat_target(kind, member, found):
    """Returns the members for which a flat member stands."""
    position = member.notes['flat'][0]
    target = model.final(member.type)
    if not isinstance(target, (model.Struct, model.Union)) or getattr(target, 'tail', None):
        raise InputError(position, "'flat' is for structures and unions that are not entries "
                         'of lists')
    if isinstance(kind, model.Typedef):
        raise InputError(position, "'flat' is for members of structures and arms of unions")
    return {name: entry[:2] for name, entry in found[target].items()}


def check_aliases(spec):
    """Reports typedefs that refer to themselves, which final() cannot follow."""
    for kind in spec.types:
        seen, at = set(), kind
        while isinstance(at, model.Typedef) and isinstance(at.member.type, model.Ref):
            if at in seen:
                raise InputError(kind.position, "'%s' contains itself" % kind.name)
            seen.add(at)
            at = at.member.type.target
