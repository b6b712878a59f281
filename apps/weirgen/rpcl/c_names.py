# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the names in C of constants, types, enumerators, programs, versions and procedures. The
names of functions are fixed. A name of the .x file that C, C++, a library or the generated code
needs gets an underscore, or in the case of versions and procedures the name of the program."""

from rpcl import check, model, reserved, types, weir_names
from rpcl.codec import is_fixed_size
from rpcl.model import InputError

MACRO, TAG, NAME = 'macro', 'tag', 'name' # what a name is in C
# Suffixes of functions for types with items, in NAME_rpc.c. A list also has others for its members.
OF_ITEMS = ('_put_call', '_put_reply', '_get_result')


class Chooser:
    def __init__(self, spec, bounds, versions, has_messages):
        self.spec = spec
        self.bounds = bounds
        self.versions = versions # (program, version, stubs)
        self.has_messages = has_messages
        self.fixed = {} # names of functions, structures and macros, and their positions
        self.macros = set() # those that are macros
        self.local = set(reserved.XDR_LOCAL)
        self.members = set(reserved.MEMBERS)
        self.used = {} # names in C that were chosen, and the positions

    def choose(self):
        self.choose_cases()
        for name, position in self.generated():
            if name in weir_names.NAMES:
                raise InputError(position, "the generated name '%s' is one of weir: choose another "
                                 'name here' % name)
            if name in self.fixed:
                raise InputError(position, "the generated name '%s' is already that of line %d" % (
                    name, self.fixed[name][0]))
            self.fixed[name] = position
        self.find_local()
        self.choose_members()
        for definition, kind in self.definitions():
            definition.renamed = self.name_of(definition.name, definition.position, kind)
            if isinstance(definition, model.Union):
                self.check_arms(definition)
        for enum in self.spec.types:
            if isinstance(enum, model.Enum):
                for name, _, position in enum.values:
                    enum.renamed_values[name] = self.name_of(name, position, NAME)
                self.spec.value_names.update(enum.renamed_values)
        for const in self.spec.consts:
            self.spec.value_names[const.name] = const.c_name
        check.check_flat(self.spec)
        self.choose_parts()
        self.choose_versions()
        self.choose_procedures()

    # ---- names that are fixed ----

    def choose_cases(self):
        """Types whose names differ only in case, or whose macros would be those of a procedure,
        keep their case in macros."""
        known = {}
        for kind in self.spec.types:
            known.setdefault(kind.name.upper(), []).append(kind)
        of_stubs = {name for name, _ in self.macros_of_stubs()}
        for name, kinds in known.items():
            if len(kinds) > 1 or name + '_MAX_BYTES' in of_stubs:
                for kind in kinds:
                    kind.has_own_case = True

    def macros_of_stubs(self):
        for _, _, stubs in self.versions:
            for stub in stubs:
                for suffix in ('_ARGS_MAX_BYTES', '_RESULTS_MAX_BYTES'):
                    self.macros.add(stub.macro + suffix)
                    yield stub.macro + suffix, stub.procedure.position

    def generated(self):
        """Returns (name, position) of the functions, the structures and the macros that are
        derived from a name of the .x file."""
        for kind in self.spec.types:
            if not types.has_functions(kind):
                continue
            suffixes = ['_get', '_put']
            if not is_fixed_size(self.bounds.known[kind]):
                suffixes.append('_bytes')
            if getattr(kind, 'tail', None):
                suffixes += ['_get_next', '_put_next']
            for suffix in suffixes:
                yield kind.name + suffix, kind.position
            for suffix in ('_MAX_BYTES', '_ARENA_BYTES'):
                self.macros.add(kind.macro + suffix)
                yield kind.macro + suffix, kind.position
        for _, version, stubs in self.versions:
            for suffix in ('_ulb', '_proc_name', '_handlers', '_server', '_program', '_dispatch',
                           '_procs', '_non_idempotent') + (('_calls', '_serve')
                                                           if self.has_messages else ()):
                yield version.prefix + suffix, version.position
            for stub in stubs:
                for suffix in ('_reply', '_begin', '_reuse', '_results'):
                    yield stub.stem + suffix, stub.procedure.position
        yield from self.macros_of_stubs()

    def find_local(self):
        """Finds the names inside the generated files, which a macro, a typedef or an enumerator
        cannot have."""
        for kind in self.spec.types:
            suffixes = ('_get', '_put') if getattr(kind, 'tail', None) else ()
            self.local.update(kind.name + suffix + '_members' for suffix in suffixes)
            if self.versions and self.bounds.known[kind].items != 0:
                self.local.update(kind.name + suffix for suffix in OF_ITEMS)
                self.local.update(kind.name + suffix + '_members' for suffix in OF_ITEMS
                                  if suffixes)
        if self.versions:
            self.local |= reserved.RPC_LOCAL
        for _, _, stubs in self.versions:
            for stub in stubs:
                self.local.update(prefix + stub.stem for prefix in ('handle_', 'fill_', 'serve_'))

    # ---- members ----

    def choose_members(self):
        """Chooses the names of members and of handlers. A macro cannot have them, either. In C++,
        an arm cannot have the name of its union, which is a structure with an anonymous union."""
        for kind in self.spec.types:
            if not isinstance(kind, model.Typedef):
                self.add_members(kind)
        for _, _, stubs in self.versions:
            used = {}
            for procedure in (stub.procedure for stub in stubs):
                if self.is_no_member(procedure.handler):
                    procedure.handler += '_'
                if procedure.handler in used:
                    raise InputError(procedure.position, "the handler of '%s' has the name '%s', "
                                     'which is that of the procedure in line %d: choose another '
                                     'one' % (procedure.name, procedure.handler,
                                              used[procedure.handler]))
                used[procedure.handler] = procedure.position[0]
            self.members.update(used)

    def is_no_member(self, name):
        return reserved.is_reserved(name) or name in self.macros

    def add_members(self, kind):
        used = {}
        members = types.members_of(kind)
        for member in members:
            if self.is_no_member(member.name) or isinstance(kind, model.Union) and \
                    member is not kind.discriminant and member.name == kind.name:
                member.renamed = member.name + '_'
        for member in sorted(members, key=lambda member: member.renamed is not None):
            if member.c_name in used:
                raise InputError(member.position, "'%s' has the name '%s' in C, which is that of "
                                 'the member in line %d: choose another one' % (
                                     member.name, member.c_name, used[member.c_name]))
            used[member.c_name] = member.position[0]
        self.members.update(used)

    @staticmethod
    def check_arms(union):
        for arm in union.arms():
            if arm.type is not None and arm.c_name == union.c_name:
                raise InputError(union.position, "'%s' has the name '%s' in C, which is that of "
                                 'the arm in line %d: choose another one' % (
                                     union.name, union.c_name, arm.position[0]))

    # ---- names that are chosen ----

    def is_taken(self, name, kind):
        return reserved.is_reserved(name) or name in weir_names.NAMES or name in self.fixed or \
            kind != TAG and (name in self.local or name in reserved.RPC_LOCAL and kind == MACRO) \
            or kind != MACRO and name in reserved.TYPES or \
            kind == NAME and name in reserved.DECLARED or \
            kind == MACRO and name in self.members

    def definitions(self):
        """Returns the constants, types and programs, and what each of them is in C."""
        for const in self.spec.consts:
            yield const, MACRO
        for kind in self.spec.types:
            yield kind, TAG if isinstance(kind, model.Enum) or types.names_tag(kind) else NAME
        for program in self.spec.programs:
            yield program, MACRO

    def name_of(self, name, position, kind):
        """Returns the name of a definition or of an enumerator in C."""
        other = name
        if self.is_taken(name, kind):
            other += '_'
            before = self.spec.named.get(other) or self.fixed.get(other)
            if before or self.is_taken(other, kind):
                raise InputError(position, "'%s' has the name '%s' in C, which is %s: choose "
                                 'another one' % (name, other, 'that of line %d' % before[0]
                                                  if before else 'taken, too'))
        self.used[other] = position
        return other

    def choose_parts(self):
        """Chooses the names of the structures of a length and the elements."""
        for kind in self.spec.types:
            for member in types.members_with_parts(kind):
                name = '%s_%s' % (kind.name, member.name)
                for other in (name, name + '_'):
                    if not self.is_taken(other, TAG) and other not in self.used:
                        break
                else:
                    raise InputError(member.position, "the structure of '%s' has the name '%s', "
                                     'which is taken: choose another one for the member' % (
                                         member.name, other))
                member.part_renamed = other
                self.used[other] = member.position

    def is_free(self, name):
        return name not in self.used and not self.is_taken(name, MACRO)

    def take(self, definition, name, what):
        if not self.is_free(name):
            before = self.used.get(name) or self.fixed.get(name)
            raise InputError(definition.position, "the number of the %s '%s' has the name '%s' in "
                             'C, which is %s: choose another one' % (
                                 what, definition.name, name, 'that of line %d' % before[0]
                                 if before else 'taken'))
        definition.renamed = name
        self.used[name] = definition.position

    def choose_versions(self):
        """Chooses the macro of each version: its name, or PROGRAM_VERSION."""
        often = {}
        for _, version, _ in self.versions:
            often[version.name] = often.get(version.name, 0) + 1
        rest = []
        for program, version, _ in self.versions:
            if often[version.name] == 1 and self.is_free(version.name):
                self.take(version, version.name, 'version')
            else:
                rest.append((program, version))
        for program, version in rest:
            self.take(version, '%s_%s' % (program.name, version.name), 'version')

    def choose_procedures(self):
        """Chooses the macro of each procedure: its name, PROGRAM_PROCEDURE, or
        PROGRAM_VERSION_PROCEDURE. Procedures with the same name and the same number share it."""
        groups = {}
        for program, version, stubs in self.versions:
            for stub in stubs:
                groups.setdefault(stub.procedure.name, []).append(
                    (program, version, stub.procedure))
        rest = []
        for name, group in groups.items():
            if not self.share(name, group):
                rest.append((name, group))
        last = []
        for name, group in rest:
            for program in dict.fromkeys(entry[0] for entry in group):
                own = [entry for entry in group if entry[0] is program]
                if not self.share('%s_%s' % (program.name, name), own):
                    last += own
        for program, version, procedure in last:
            self.take(procedure, '%s_%s_%s' % (program.name, version.name, procedure.name),
                      'procedure')

    def share(self, name, group):
        """Gives a name to procedures if it is free and their numbers are equal."""
        numbers = {procedure.value.number for _, _, procedure in group}
        if len(numbers) > 1 or not self.is_free(name):
            return False
        for _, _, procedure in group:
            procedure.renamed = name
        self.used[name] = group[0][2].position
        return True
