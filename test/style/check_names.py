#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the name of a static function is unique within its library or driver, and within a
program of apps/ or bench/ with the parts that it links. A search then finds one definition, and a
profile or a debugger's breakpoint names one function. The argument is the build directory, whose
files say what each program consists of."""

import collections
import json
import pathlib
import re
import subprocess
import sys

import tree

STATIC = re.compile(r'^static\s+(?:printf_like\([^)]*\)\s+)?(?:\w+[\s*]+)+?(\w+)\(', re.M)
# A rule of build.ninja that links objects and archives.
LINK = re.compile(r'^build (\S+): (?:c|STATIC)_LINKER\S* (.*)$', re.M)
FOLDERS = ('apps', 'bench')


def from_root(build, name):
    """Returns a path of the build directory's files relative to the root, or None."""
    path = (build / name).resolve()
    return path.relative_to(tree.ROOT) if path.is_relative_to(tree.ROOT) else None


def headers_of(build):
    """Returns the headers of FOLDERS that each object was compiled with."""
    out = subprocess.run(['ninja', '-C', str(build), '-t', 'deps'], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    headers, name = collections.defaultdict(set), None
    for line in out.splitlines():
        if line and not line.startswith(' '):
            name = line.split(':')[0]
        elif line.endswith('.h') and ('/apps/' in line or '/bench/' in line):
            path = from_root(build, line.strip())
            if path and path.parts[0] in FOLDERS:
                headers[name].add(path)
    return headers


def programs(build):
    """Returns the files of FOLDERS that each of their programs consists of."""
    links = {target: inputs.split() for target, inputs in
             LINK.findall((build / 'build.ninja').read_text(encoding='utf-8'))}
    source = {entry['output']: from_root(build, entry['file']) for entry in
              json.loads((build / 'compile_commands.json').read_text(encoding='utf-8'))}
    headers = headers_of(build)
    found = {}
    for target, inputs in links.items():
        if not target.startswith(FOLDERS) or target.endswith('.a'):
            continue
        objects = [name for item in [target, *inputs] for name in links.get(item, [])
                   if name in source]
        files = {source[name] for name in objects}.union(*(headers[name] for name in objects))
        found[target] = {path for path in files if path and path.parts[0] in FOLDERS}
    return found


def meson_folder(path):
    """Returns the closest folder above a file that has a meson.build. A folder of FOLDERS without
    one is listed by the folder that contains it."""
    return next(folder for folder in path.parents if (tree.ROOT / folder / 'meson.build').is_file())


def units_of(path, made_of):
    """Returns the library or driver, or the programs, to which a file belongs. A file that this
    build leaves out belongs to the programs of its folder or, if the build leaves out all of them,
    to the folder."""
    if path.parts[0] in ('lib', 'drivers') and len(path.parts) > 2:
        return ['/'.join(path.parts[:2])]
    units = [name for name, files in made_of.items() if path in files]
    if not units and path.parts[0] in FOLDERS:
        folder = meson_folder(path)
        listed = "'%s'" % path.relative_to(folder) in tree.text(folder / 'meson.build')
        if listed or path.suffix == '.h':
            units = [name for name in made_of if name.startswith(f'{folder}/')] or [str(folder)]
    return units


def main():
    places = collections.defaultdict(list)
    findings = []
    made_of = programs(pathlib.Path(sys.argv[1]).resolve())
    for path in tree.files('.c') + tree.files('.h'):
        units = units_of(path, made_of)
        if path.parts[0] in FOLDERS and not units:
            findings.append('%s is in no program: list it in meson.build' % path)
        for unit in units:
            for name in sorted(set(STATIC.findall(tree.text(path)))):
                places[unit, name].append(str(path))
    findings += ['%s() is static in each of %s' % (name, ', '.join(paths))
                 for (_, name), paths in sorted(places.items()) if len(paths) > 1]
    tree.finish(findings, 'Begin with the noun that the file is about, or share one function.')


main()
