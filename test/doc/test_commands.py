#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs each command that a page shows, and compares its output with the page. Each program that a
page shows is part of a file that is compiled. Argument: the folder of the build.

The commands of a page run in one shell, in a copy of the tree with a home of its own. Each program
is a stand-in there (stand_in.py), which does as much of the command as a test can: it runs the
program with less work, or looks for each option in the program's help. A program that is in no
class of stand_in.py makes the test fail. The code that pages show is in guide.c and
outline.c."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import pages
import stand_in
from pages import C, CONSOLE, INI, NONE, SHELL, tree

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
STAND_IN = pathlib.Path(__file__).with_name('stand_in.py')
PAGE_SECONDS = 400
# Programs whose output has figures of the machine.
MEASURED = ('weir-bench', 'tools/quickstart')
# The files that a command finds in its folder.
FILES = {
    'dir/file': b'a file\n',
    'v2.ini': b'[connection]\nprotocol = v2\nextension = all\n',
    'my.ini': b'[connection]\n' + b'# a comment\n' * 5 + b'credits = 5000\n',
    'capture.pcap': struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1),
}
# Commands of the shell that need no stand-in.
TOOLS = ('bash', 'sh', 'cat')
# Figures on these pages name the command that made them.
FIGURES = ('README.rst', 'doc/performance.rst')
FIGURE = re.compile(r'\d (ns|us|ms|GB/s|M/s)\b|million|\.\. list-table::')


def executables():
    """Returns the path of each program that a page can call: by its path in the build, or by its
    name if the program is installed."""
    found = {}
    info = BUILD / 'meson-info'
    for target in json.loads((info / 'intro-targets.json').read_text(encoding='utf-8')):
        if target['type'] == 'executable':
            path = pathlib.Path(target['filename'][0])
            found[f'build/{path.relative_to(BUILD)}'] = str(path)
            if target['installed']:
                found[path.name] = str(path)
    return found


def names_of_fuzzers():
    return [f'build-fuzz/test/fuzz/{path.stem}'
            for path in (SOURCE / 'test/fuzz').glob('fuzz_*.c')]


class Scratch:
    """A copy of the tree whose programs are stand-ins, and a shell that has no others."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tree, self.bin, self.log = (self.folder / name for name in ('tree', 'bin', 'log'))
        for path in (self.bin, self.folder / 'home', self.folder / 'root'):
            path.mkdir()
        self.calls = []  # log of what the stand-ins did
        self.log.touch()
        programs = executables()
        self.copy_tree()
        self.setup = self.folder / 'setup.json'
        self.setup.write_text(json.dumps({
            'scratch': str(self.folder), 'tree': str(self.tree), 'source': str(SOURCE),
            'build': str(BUILD), 'programs': programs, 'path': os.environ['PATH'],
            'id': f'{os.getpid()}-{time.monotonic_ns()}'}), encoding='utf-8')
        for name in [*programs, *names_of_fuzzers()]:
            self.stand_in(self.tree / name if '/' in name else self.bin / name, name)
        for name, _function, _what in stand_in.CLASSES:
            if '/' not in name and name not in programs:
                self.stand_in(self.bin / name, name)
        for name in TOOLS:
            (self.bin / name).symlink_to(shutil.which(name))

    def copy_tree(self):
        for path in tree.files():
            copy = self.tree / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            if os.access(SOURCE / path, os.X_OK):
                self.stand_in(copy, str(path))
            else:
                shutil.copyfile(SOURCE / path, copy)
        for name, content in FILES.items():
            (self.tree / name).parent.mkdir(exist_ok=True)
            (self.tree / name).write_bytes(content)
        share = self.folder / 'root/usr/local/share/weir/wireshark'
        share.mkdir(parents=True)
        for path in (SOURCE / 'apps/wireshark').glob('*.lua'):
            shutil.copy(path, share)
        # The examples of an installed weir.
        shutil.copytree(SOURCE / 'apps/examples',
                        self.folder / 'home/weir/share/weir/examples')
        # A page reserves hugepages on the machine. In the test, the command writes to a file
        # instead.
        (self.folder / 'root/proc/sys/vm').mkdir(parents=True)

    def stand_in(self, path, name):
        path.parent.mkdir(parents=True, exist_ok=True)
        words = shlex.join([sys.executable, str(STAND_IN), name])
        path.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding='utf-8')
        path.chmod(0o755)

    def inside(self, text):
        """Returns the commands with the paths of the machine replaced by paths inside the
        folder."""
        text = re.sub(r'''(?<=[\s="':>])/usr/local/bin/''', f'{self.bin}/', text)
        return re.sub(r'''(?<=[\s="':>])/(?=(etc|srv|proc|usr/local)/)''', f'{self.folder}/root/',
                      text)

    def run(self, script):
        """Runs the commands of a page. Returns what went wrong, or an empty string."""
        log = self.folder / 'shell'
        env = {'PATH': str(self.bin), 'HOME': str(self.folder / 'home'), 'LC_ALL': 'C.UTF-8',
               'TMPDIR': str(self.folder), 'WEIR_DOC': str(self.setup)}
        with log.open('wb') as out:
            shell = subprocess.Popen(['bash', '-euo', 'pipefail', '-c', script], cwd=self.tree,
                                     env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                     start_new_session=True)
            try:
                status = shell.wait(PAGE_SECONDS)
            except subprocess.TimeoutExpired:
                status = 'no end'
                os.killpg(shell.pid, signal.SIGKILL)
                shell.wait()
        wrong = self.end_servers() + self.failures()
        said = log.read_text(encoding='utf-8', errors='replace')
        return wrong if status == 0 and not wrong else f'{said[-3000:]}{wrong}\nstatus {status}'

    def end_servers(self):
        path, wrong = self.folder / 'servers', ''
        for line in path.read_text(encoding='ascii').splitlines() if path.exists() else []:
            pid, name = line.split()
            try:
                os.killpg(int(pid), signal.SIGTERM)
            except ProcessLookupError:
                wrong += f'{name} ended before the page did\n'
        path.unlink(missing_ok=True)
        for server in self.folder.glob('server-*'):
            server.unlink()
        return wrong

    def failures(self):
        """Returns which commands of the last shell failed, including those whose status the shell
        ignored."""
        new = [json.loads(line) for line in self.log.read_text(encoding='utf-8').splitlines()]
        new = new[len(self.calls):]
        self.calls += new
        return ''.join(f'{call["at"]}: {shlex.join(call["command"])} failed\n' for call in new
                       if call['status'] and not call['at'].endswith('console'))


class Page:
    """The commands of a page as one script."""

    def __init__(self, scratch, name, text):
        self.scratch, self.name, self.text = scratch, name, text
        self.blocks = pages.blocks_of(name, text)
        self.shown = []  # (block, command, lines on the page, file of the output)

    def script(self):
        parts = []
        for block in self.blocks:
            if block.language == SHELL:
                parts += [f'export WEIR_DOC_AT={block.at}', self.scratch.inside(block.text)]
            elif block.language == CONSOLE:
                parts += self.console(block)
            elif block.language == INI:
                parts += self.ini(block)
        return '\n'.join(parts) + '\n'

    def console(self, block):
        for line, command, shown in pages.commands_of(block):
            out = self.scratch.folder / f'output-{len(self.shown)}'
            self.shown.append((f'{self.name}:{line}', command, shown, out))
            yield f'export WEIR_DOC_AT={self.name}:{line}:console'
            yield f'{{ {self.scratch.inside(command)}\n}} >{out} 2>&1 || true'

    def ini(self, block):
        """Checks a profile with weir-bench. Other files have no command that could check them. The
        profile can include those of the folder config."""
        if not re.search(r'ExecStart|backend|\[Service\]', block.text):
            path = self.scratch.tree / f'config/profile-{block.line}'
            path.write_text(block.text, encoding='utf-8')
            yield f'export WEIR_DOC_AT={block.at}'
            # A section of engines is for CPUs that the machine can lack.
            what = '--show-profile' if '[engine:' in block.text else '--calls 1'
            yield f'weir-bench --profile {path} {what}'

    def units(self):
        """Yields the command of each systemd unit. It runs in a shell of its own, as a unit
        does."""
        for block in self.blocks if 'ExecStart=' in self.text else []:
            command = re.search(r'^ExecStart=((.*\\\n)*.*)', block.text, re.M)
            if command:
                self.exports()
                yield (f'export WEIR_DOC_AT={block.at}\n' +
                       self.scratch.inside(' ' + command.group(1)))

    def exports(self):
        """Writes the file of exports that the page shows."""
        text = next((block.text for block in self.blocks if 'backend' in block.text), '')
        root = self.scratch.folder / 'root'
        for folder in (root / 'etc/weir', root / 'srv/home'):
            folder.mkdir(parents=True, exist_ok=True)
        text = text.replace('build.example.org', 'localhost')
        if os.geteuid() != 0:  # only root exports directories
            text = re.sub(r'dir:\S+', 'ram', text)
        text = re.sub(r'^size = .*', 'size = 64m', self.scratch.inside(text), flags=re.M)
        (root / 'etc/weir/exports.ini').write_text(text, encoding='utf-8')

    def outputs(self):
        """Yields what is wrong with the outputs that the page shows."""
        for at, command, shown, path in self.shown:
            printed, shown = path.read_text(encoding='utf-8'), '\n'.join(shown)
            if command.split()[0] in MEASURED:
                shown, printed = pages.in_shape(shown), pages.in_shape(printed)
            if not pages.outlines(shown.split('\n'), printed):
                yield f'{at}: the output of {command} is\n{printed}'

    def wrong(self):
        """Runs the page. Returns what is wrong with it, or an empty string."""
        return (self.scratch.run(self.script()) or '\n'.join(self.outputs()) or
                ''.join(self.scratch.run(unit) for unit in self.units()))


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='weir-doc-')
        cls.addClassCleanup(folder.cleanup)
        cls.scratch = Scratch(folder.name)

    def setUp(self):
        self.maxDiff = None

    def page(self, text):
        return Page(self.scratch, 'page', text)

    def test_pages(self):
        for name in pages.names():
            with self.subTest(page=name):
                self.assertEqual(Page(self.scratch, name, tree.text(name)).wrong(), '')
        for call in self.scratch.calls:
            print(call['status'], call['seconds'], call['at'], shlex.join(call['command'])[:100],
                  '--', call['class'])

    def test_right_page(self):
        self.assertEqual(self.page('A::\n\n   weir-bench --size 8 --calls 10\n').wrong(), '')

    def test_wrong_commands(self):
        """Each of these is an error that a page might have."""
        for command in ('weir-bench --sizes 8 --calls 10', 'weir-bench --size 8k8',
                        'weir-benchmark', 'apps/weir-nfs/weir-nfs', 'tools/quickstart test2',
                        'tools/rename', 'bench/compare --goal-lines', 'test/guest/run no.sh',
                        'meson test -C build --suite units', 'meson setup build-x -Dfuss=true',
                        'meson compile -C build weir-none', 'rdma link add rxe0 type none',
                        'mount -t nfs -o vers=3,proto=rdmas 192.0.2.1:/scratch /mnt',
                        'weir-hostile --list', 'curl https://example.org', './first',
                        'build/test/hostile/weir-hostile --connect nobody',
                        'weir-nfsd --listen x --export scratch', 'cat none.ini',
                        'weir-nfs --server x --export y list', 'weir-sim --seed 7',
                        'build-fuzz/test/fuzz/fuzz_none -max_total_time=1 test/fuzz/corpus/xdr'):
            with self.subTest(command=command):
                self.assertNotEqual(self.page(f'A::\n\n   {command}\n').wrong(), '')

    def test_wrong_output(self):
        head = 'A:\n\n.. code-block:: console\n\n   $ weir-decode --version\n   '
        said = subprocess.run([executables()['weir-decode'], '--version'], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        self.assertEqual(self.page(head + said).wrong(), '')
        self.assertNotEqual(self.page(head + said.replace('weir', 'wier')).wrong(), '')

    def test_wrong_files(self):
        for text in ('[connection]\ncredit = 8', '[Service]\nExecStart=/usr/local/bin/weir-bench '
                     '--foreground'):
            page = 'A:\n\n.. code-block:: ini\n\n' + textwrap.indent(text, '   ')
            self.assertNotEqual(self.page(page).wrong(), '', text)


class Blocks(unittest.TestCase):
    """The language of each block is known, and text that looks like a command is one."""

    @classmethod
    def setUpClass(cls):
        cls.texts = {name: tree.text(name) for name in pages.names()}
        cls.blocks = [block for name, text in cls.texts.items()
                      for block in pages.blocks_of(name, text)]
        cls.programs = executables()

    def is_program(self, word):
        try:
            return bool(stand_in.class_of(word))
        except stand_in.Wrong:
            return False

    def test_languages(self):
        known = {SHELL, CONSOLE, NONE, C, INI, 'literalinclude'}
        for block in self.blocks:
            self.assertIn(block.language, known, block.at)

    def test_c_is_compiled(self):
        compiled = {pathlib.Path(entry['directory'], entry['file']).resolve() for entry in
                    json.loads((BUILD / 'compile_commands.json').read_text(encoding='utf-8'))}
        shell = ''.join(block.text for block in self.blocks if block.language == SHELL)
        outline = (SOURCE / 'test/doc/outline.c').read_text(encoding='utf-8').expandtabs(8)
        parts = [textwrap.dedent(part).strip() for part in
                 re.findall(r'/\* \[\w+\] \*/\n(.*?)\n\s*/\* \[end\] \*/', outline, re.S)]
        for block in self.blocks:
            if block.language == C:
                self.assertEqual(block.text, '\n\n'.join(parts), block.at)
            elif block.language == 'literalinclude':
                path = ((SOURCE / block.page).parent / block.text.split('\n')[0]).resolve()
                # A program is compiled and run here, or the commands of a page compile and run it.
                self.assertTrue(path in compiled or f'cp {path.relative_to(SOURCE)}' in shell,
                                block.at)

    def test_other_text_has_no_commands(self):
        """A line of other text begins with a program in a synopsis only, whose options exist."""
        for block in self.blocks:
            for line in block.text.split('\n') if block.language == NONE else []:
                word = line.split(' ')[0]
                if not self.is_program(word):
                    continue
                self.assertIn(word, self.programs, block.at)
                self.assertRegex(line, r'\[OPTIONS\]|\[--', block.at)
                self.assert_options(word, line, block.at)

    def test_literals(self):
        """Options in commands within the text are options of the program."""
        for name, text in self.texts.items():
            for line, literal in pages.literals_of(text):
                word = literal.split(' ')[0]
                if ' -' in literal and self.is_program(word) and self.has_help(word):
                    self.assert_options(word, literal, f'{name}:{line}')

    def has_help(self, word):
        return word in self.programs or word in (
            'bench/compare', 'bench/idle', 'bench/stalls', 'test/guest/run')

    def assert_options(self, word, text, at):
        said = subprocess.run([self.programs.get(word, SOURCE / word), '--help'], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        named = set(re.findall(r'(?<![\w-])--[a-z][\w-]*', text))
        self.assertEqual(named - set(re.findall(r'--[a-z][\w-]*', said)), set(), at)

    def test_figures_name_their_command(self):
        """A section with figures names a program that measures."""
        for name in FIGURES:
            sections = re.split(r'\n(?=[^\n]+\n[=-]{3,}\n)', self.texts[name])
            self.assertTrue(any(FIGURE.search(section) for section in sections))
            for section in sections:
                if FIGURE.search(section):
                    self.assertRegex(section, r'(?m)(``|^ +)(bench/|test/guest/|valgrind )\S+',
                                     f'{name}: {section[:40]}')


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
