# SPDX-License-Identifier: BSD-3-Clause
"""Runs in place of a program that a page names, and does as much of the command as a test can.
CLASSES says what that is for each program. A program in no class fails. Arguments: the name by
which the page calls the program, and the arguments on the page. The variable WEIR_DOC is a file
that test_commands.py wrote. It says where everything is.

Each call adds a line to the file 'log': where it is on the pages, its class and its status."""

import fnmatch
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time


class Setup:
    """The paths and names that this run needs. main() reads them."""
    scratch = tree = source = build = pathlib.Path()
    programs = {}  # the path of each program that is built here, by its name on the pages
    path = ''  # the folders of other programs
    id = ''  # a name of this run, for names that all processes of the machine share

    def read(self, file):
        said = json.loads(pathlib.Path(file).read_text(encoding='utf-8'))
        self.scratch, self.tree, self.source, self.build = (
            pathlib.Path(said[key]) for key in ('scratch', 'tree', 'source', 'build'))
        self.programs, self.path, self.id = said['programs'], said['path'], said['id']


SETUP = Setup()
LIMIT = 120  # seconds for a command
START = 30  # seconds for a server to be ready

# The options whose values are replaced, so that a page's command does not run for minutes.
SHORT = {
    'weir-bench': {'--time': '0.05', '--repeat': '1', '--warmup': '0.05'},
    'weir-nfs': {'--time': '0.2', '--warmup': '0.05'},
    'weir-hostile': {'--count': '20'},
    'weir-sim': {'--seeds': '1..20', '--fresh': '5'},
    'bench/idle': {'--rounds': '1'},
    'bench/stalls': {'--time': '0.2', '--rounds': '1'},
}


class Wrong(Exception):
    """The command on the page is wrong."""


def need(ok, message):
    if not ok:
        raise Wrong(message)


def environment(*folders):
    """Returns an environment in which programs call those of the machine, and before them those in
    the folders."""
    return {**os.environ, 'PATH': ':'.join([*folders, SETUP.path]), 'WEIR_DOC_INNER': '1'}


def real(name):
    """Returns the path of the program that a page calls by this name."""
    path = SETUP.programs.get(name) or ('/' in name and str(SETUP.source / name))
    if path:
        return path
    for folder in SETUP.path.split(':'):
        if os.access(f'{folder}/{name}', os.X_OK):
            return f'{folder}/{name}'
    raise Wrong(f'{name} is not installed')


def run(program, *args, allowed=(0,), **how):
    """Runs a program to its end. Raises Wrong unless its status is an allowed one."""
    how.setdefault('env', environment())
    status = subprocess.run([program, *args], timeout=LIMIT, check=False, **how).returncode
    need(status in allowed, f'{program} {" ".join(args)} ended with {status}')
    return status


def read(program, *args):
    """Runs a program, and returns what it prints."""
    return subprocess.run([program, *args], timeout=LIMIT, check=True, text=True,
                          env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT).stdout


def value(args, option, default=None):
    return args[args.index(option) + 1] if option in args[:-1] else default


def with_value(args, option, new):
    """Returns the arguments with another value of the option. The option is added if the arguments
    lack it."""
    if option not in args:
        return [*args, option, new]
    at = args.index(option) + 1
    return [*args[:at], new, *args[at + 1:]]


def shortened(name, args):
    """Returns the arguments with less work to do. A range of 'A:B:xF' then has two values."""
    for option, new in SHORT[name].items():
        args = with_value(args, option, new) if option in args else args
    return [re.sub(r'^(\d+):\w+:x(\d+)$', lambda found: '{0}:{2}:x{1}'.format(
        *found.groups(), int(found[1]) * int(found[2])), arg) for arg in args]


def unique(address):
    """Returns an address of shm that no other test uses. Such addresses are names, which all
    processes of the machine share."""
    own = f'weir-doc-{SETUP.id}-'
    return address if address.startswith(own) else own + address


def over_shm(args):
    """Returns the arguments for the same command over shm, at an address of this test."""
    args = with_value(args, '--driver', 'shm') if '--driver' in args else args
    for option in ('--listen', '--connect', '--server'):
        if option in args:
            args = with_value(args, option, unique(value(args, option)))
    return args


def options_are_known(name, args):
    """Checks that each option is in the program's help."""
    known = set(re.findall(r'(?<![\w-])--?[a-zA-Z][\w-]*', read(real(name), '--help')))
    for arg in args:
        option = re.match(r'--?[a-zA-Z][\w-]*', arg)
        need(not option or option.group() in known, f'{name} has no option {arg}')


# Servers.


def serve(name, args, ready):
    """Starts a server, and returns its line that says that it is ready. The test ends the server
    after the page."""
    address = value(args, '--listen')
    log = SETUP.scratch / f'server-{address}'
    with log.open('wb') as out:
        server = subprocess.Popen([real(name), *args], stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=out, env=environment(), start_new_session=True)
    with (SETUP.scratch / 'servers').open('a', encoding='ascii') as file:
        file.write(f'{server.pid} {name}\n')
    for _ in range(START * 20):
        said = log.read_text(encoding='utf-8', errors='replace')
        line = next((line for line in said.splitlines() if ready in line), None)
        if line:
            return line
        need(server.poll() is None, f'{name} ended: {said}')
        time.sleep(0.05)
    raise Wrong(f'{name} was not ready: {said}')


def is_served(address):
    return (SETUP.scratch / f'server-{unique(address)}').exists()


def serve_files(args):
    args = over_shm([re.sub(r'(=ram):\w+', r'\1:64m', arg) for arg in args
                     if arg != '--foreground'])
    state = SETUP.scratch / 'state'
    state.mkdir(mode=0o700, exist_ok=True)
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = str(free.getsockname()[1])
    address = value(args, '--listen')
    line = serve('weir-nfsd', [*args, '--foreground', '--no-rpcbind', '--state', str(state),
                               '--mount-port', port], ' handle ')
    (SETUP.scratch / f'port-{address}').write_text(port, encoding='ascii')
    (SETUP.scratch / f'handle-{address}').write_text(line.split()[-1] + '\n', encoding='ascii')


# The classes. Each function does what it can of a command, and raises Wrong.


def as_written(name, args):
    run(real(name), *args)


def with_real_programs(name, args):
    """Runs a tool that reads programs, and gives it the programs instead of the stand-ins."""
    args = [SETUP.programs.get(arg, arg) for arg in args]
    run(real(name), *args, stdout=sys.stdout, stderr=sys.stderr)


def python(name, args):
    run(real(name), *[arg.replace("'build'", repr(str(SETUP.build))) for arg in args])


def measurement(_name, args):
    if '--show-profile' in args:
        run(real('weir-bench'), *args, stdout=subprocess.DEVNULL)
        return
    args = over_shm(shortened('weir-bench', args))
    if '--listen' in args:
        serve('weir-bench', cores(args), 'responder on')
        return
    if '--time' not in args and '--calls' not in args:
        args = [*args, '--time', '0.3', '--warmup', '0.05']
    # A threshold need not be met on a busy machine.
    allowed = (0, 3) if '--threshold' in args else (0,)
    run(real('weir-bench'), *cores(args), '--quiet', allowed=allowed)


def cores(args):
    """Returns the arguments without the cores that the machine lacks. Without a list, threads are
    not pinned."""
    there = {str(core) for core in os.sched_getaffinity(0)}
    named = set(re.findall(r'\d+', value(args, '--lcores', '')))
    return args if named and named <= there else with_value(args, '--lcores', 'any')


def quickstart(name, args):
    help_text = read(real(name), 'help')
    need(args and re.search(rf'^  {re.escape(args[0])}\b', help_text, re.M), f'{name} {args}')
    if args[0] == 'bench':
        measurement('weir-bench', args[1:] or ['--overview'])


def file_server(_name, args):
    serve_files(args)


def file_client(name, args):
    address = value(args, '--server')
    need(address and value(args, '--export'), 'weir-nfs lacks --server or --export')
    if not is_served(address):
        serve_files(['--listen', address, '--export', value(args, '--export') + '=ram:64m'])
    args = shortened('weir-nfs', args)
    if 'bench' in args and '--time' not in args:
        args = [*args, '--time', '0.2', '--warmup', '0.05', '--size', '256k']
    port = (SETUP.scratch / f'port-{unique(address)}').read_text(encoding='ascii')
    where = ['--driver', 'shm', '--server', unique(address), '--export', value(args, '--export'),
             '--mount-port', port]
    run(real(name), *where, 'mkdir', '-p', 'projects', allowed=(0, 1))
    run(real(name), *where, 'put', str(SETUP.tree / 'LICENSE'), 'projects/a')
    run(real(name), *over_shm(args), '--mount-port', port)


def hostile(name, args):
    address = value(args, '--connect')
    need(not address or is_served(address), f'no command on the page listens on {address}')
    handle = value(args, '--handle')
    if handle:
        path = SETUP.scratch / f'handle-{unique(address)}'
        need(path.exists(), f'{address} is no server of files')
        args = with_value(args, '--handle', f'@{path}')
    if '--run' in args and '--case' not in args:
        args = [*args, '--count', '3']  # a requester is started for each case
    run(real(name), *over_shm(shortened('weir-hostile', args)),
        env=environment(f'{SETUP.scratch}/bin'))


def hostile_calls(name, args):
    need(len(args) >= 4, f'{name} takes more arguments')
    run(str(SETUP.source / name), args[0], unique(args[1]), *args[2:], allowed=(0, 1),
        env=environment(f'{SETUP.scratch}/bin'))


def hostile_results(name, args):
    need(len(args) == 2 and args[0] == 'build', f'{name} takes SETUP.build and OUT')
    out = pathlib.Path(args[1])
    out.mkdir(exist_ok=True)
    serve('weir-bench', ['--listen', unique('results'), '--lcores', 'any'], 'responder on')
    run(real('build/test/hostile/weir-hostile'), '--connect', unique('results'), '--case',
        'read-chunk', '--quiet', '--label', 'a page', '--json', str(out / 'page.json'))
    logs = SETUP.tree / 'build/guest-logs'
    logs.mkdir(exist_ok=True)
    (logs / 'page.json').write_bytes((out / 'page.json').read_bytes())


def simulation(name, args):
    run(real(name), *shortened('weir-sim', args))


def stalls(name, args):
    args = shortened(name, args)
    args = args if '--kinds' in args else [*args, '--kinds', 'null']
    args = with_value(args, '--floor', '0') # on a busy machine, a short measurement says nothing
    run(str(SETUP.source / name), *with_value(args, '--build', str(SETUP.build)))


def idle(name, args):
    """Runs a part that ends soon. A busy machine misses the target, which has status 1."""
    run(str(SETUP.source / name), *shortened(name, args), '--parts', 'wake', '--wakes', '10',
        '--build', str(SETUP.build), allowed=(0, 1))


def by_its_help(name, args):
    """Checks the options by the program's help. Each other argument must be a file, a number, or
    one of the choices that the help lists in braces."""
    options_are_known(name, args)
    choices = re.findall(r'[{,]([\w-]+)(?=[,}])', read(real(name), '--help'))
    for arg in args:
        need(re.match(r'-|\d+$', arg) or arg in choices or (SETUP.tree / arg).exists(),
             f'{name}: no file {arg}')


def guest(name, args):
    options_are_known(name, args)
    scripts = [arg for arg in args if arg.endswith('.sh')]
    need(scripts, f'{name} runs no script')
    for script in scripts:
        need(re.search(r'^# limit: \d+', (SETUP.source / script).read_text(encoding='utf-8'), re.M),
             f'{script} has no limit')


def root_command(name, args):
    """Checks a script of test/guest, which runs as root in a guest. It must have the same command:
    the same name, each option and each word of an option, except for paths and addresses."""
    words = {word for arg in args for word in arg.split(',')}
    words -= {word for word in words if re.match(r'[\d.]+:|/|[A-Z]+$', word)}
    scripts = [path for path in (SETUP.source / 'test/guest').rglob('*')
               if path.is_file() and path.suffix in ('', '.sh')]
    lines = [line.replace('"$DEVICE"', 'rxe0') for path in scripts
             for line in path.read_text(encoding='utf-8').replace('\\\n', ' ').splitlines()]
    need(any(re.search(rf'\b{name} ', line) and words <= set(re.split(r'[\s,"]+', line))
             for line in lines), f'no script in test/guest has {name} {sorted(words)}')


def fuzzer(name, args):
    target = pathlib.Path(name).name
    need((SETUP.source / f'test/fuzz/{target}.c').exists(), f'there is no fuzzer {target}')
    need(fnmatch.filter(args, '-max_total_time=*'), f'{name} would run without an end')
    folders = [arg for arg in args if not arg.startswith('-')]
    need(folders and all((SETUP.tree / folder).is_dir() for folder in folders),
         f'{name}: {folders}')


def make(_name, args):
    """Checks the Makefile of the examples, which is in the folder of -C, or in the folder of the
    page. Each word that is not an option must be a variable of it or a target."""
    folder = pathlib.Path(value(args, '-C') if '-C' in args else SETUP.source / 'apps/examples')
    makefile = (folder / 'Makefile').read_text(encoding='utf-8')
    for word in [arg for arg in args if arg not in ('-C', str(folder))]:
        name = word.partition('=')[0]
        need(re.search(rf'^{name}\b\s*[?:]?[:=]', makefile, re.M), f'the Makefile has no {name}')


def example(name, args):
    """Checks that the sources of the examples, or the tests that run them, have each option of the
    command. The program borrowed-eal passes its options to EAL."""
    need((SETUP.source / f'apps/examples/{name}.c').exists(), f'there is no example {name}')
    paths = [*(SETUP.source / 'apps/examples').glob('*.[ch]'),
             *(SETUP.source / 'test/install').glob('*.py')]
    text = ''.join(path.read_text(encoding='utf-8') for path in paths)
    for option in [arg for arg in args if arg.startswith('--')]:
        need(re.search(rf"""["' ]({option}|{option[2:]})["' ]""", text),
             f'{name} has no option {option}')


def read_metrics(_name, args):
    need(len(args) == 3 and args[0] == '--unix-socket' and args[2] == 'http://weir/metrics',
         f'curl {args}')


def on_the_model(name, args):
    """Runs a program of libibverbs on the model of a device, which the page preloads."""
    library = 'test/mlx5-model/libmlx5_model.so'
    need(not args and os.environ.get('LD_PRELOAD', '').endswith(f'build/{library}'),
         f'{name} {args} without the model')
    done = subprocess.run([real(name)], timeout=LIMIT, check=True, text=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env={**environment(), 'LD_PRELOAD': f'{SETUP.build}/{library}'})
    need('mlx5_0' in done.stdout, f'{name} shows no device of the model: {done.stdout}')


EXAMPLES = ['hello', 'epoll-loop', 'metrics', 'blockstore', 'borrowed-eal', 'reactor']


# Meson. The build of the test is 'build'; others are configured, but not compiled.


def configured(folder):
    """Returns the folder of a build that a page calls by this name."""
    own = SETUP.scratch / 'configured' / folder
    return own if own.exists() else SETUP.build


def introspect(folder, what):
    path = configured(folder) / 'meson-info' / f'intro-{what}.json'
    return json.loads(path.read_text(encoding='utf-8'))


def meson_setup(args):
    folder, *others = [arg for arg in args if not arg.startswith('-')]
    need(not others, f'meson setup {others}')
    own = SETUP.scratch / 'configured' / folder
    # A page can configure anew what an earlier page has configured. If no page has, the folder
    # stands for the build of the test.
    if '--reconfigure' in args and own.exists():
        run(real('meson'), 'setup', *[arg for arg in args if arg != folder], str(own),
            str(SETUP.source), stdout=subprocess.DEVNULL)
        return
    args = [arg for arg in args if arg != '--reconfigure']
    record = own.with_name(folder + '.options')
    options = f'{args} {os.environ.get("CC")}'
    if not own.exists() or record.read_text(encoding='utf-8') != options:
        shutil.rmtree(own, ignore_errors=True)
        own.parent.mkdir(exist_ok=True)
        record.write_text(options, encoding='utf-8')
        run(real('meson'), 'setup', *[arg for arg in args if arg != folder], str(own),
            str(SETUP.source), stdout=subprocess.DEVNULL)


def meson_configure(args):
    folder, *options = args
    meson_setup([folder])
    run(real('meson'), 'configure', str(configured(folder)), *options)


def meson_compile(args):
    folder = configured(value(args, '-C'))
    run(real('meson'), 'compile', '-C', str(folder), *args[2:], '--ninja-args=-n',
        stdout=subprocess.DEVNULL)


def meson_test(args):
    folder = configured(value(args, '-C'))
    listed = read(real('meson'), 'test', '-C', str(folder), *args[2:], '--no-rebuild', '--list')
    need(re.search(r'^weir:', listed, re.M), f'meson test {args} would run nothing: {listed}')


def meson_install(args):
    """Installs the build of the test to the folder for which the page's build was configured."""
    prefix = next(option['value'] for option in introspect(value(args, '-C'), 'buildoptions')
                  if option['name'] == 'prefix')
    destination = SETUP.scratch / 'installed'
    run(real('meson'), 'install', '-C', str(SETUP.build), '--no-rebuild', '--quiet',
        env={**environment(), 'DESTDIR': str(destination)})
    before = next(option['value'] for option in json.loads(
        (SETUP.build / 'meson-info/intro-buildoptions.json').read_text(encoding='utf-8'))
                  if option['name'] == 'prefix')
    shutil.rmtree(prefix, ignore_errors=True)
    os.rename(f'{destination}{before}', prefix)
    for path in pathlib.Path(prefix).rglob('*.pc'):
        text = path.read_text(encoding='utf-8')
        path.write_text(re.sub('^prefix=.*', f'prefix={prefix}', text, flags=re.M),
                        encoding='utf-8')


MESON = {'setup': meson_setup, 'configure': meson_configure, 'compile': meson_compile,
         'test': meson_test, 'install': meson_install}


def meson(_name, args):
    need(args and args[0] in MESON, f'meson {args}')
    MESON[args[0]](args[1:])


def fio(name, args):
    """Looks for each option in the help of fio, or in the options of the engine."""
    engine = (SETUP.source / 'apps/weir-fio/engine.c').read_text(encoding='utf-8')
    help_text = read(real(name), '--help')
    for option in (arg[2:].split('=')[0] for arg in args if arg.startswith('--')):
        if option.startswith('weir_'):
            need(f'"{option}"' in engine, f'the engine has no option {option}')
        elif f'--{option}' not in help_text:
            need('No such' not in read(real(name), f'--cmdhelp={option}'), f'fio has no {option}')


# Classes of programs. The first pattern that matches the name of a program has its class. The text
# says what the class does with the command, and which test does the rest.
CLASSES = [
    ('tools/quickstart', quickstart,
     'bench runs weir-bench as built here; CI runs setup and test'),
    ('tools/run-tests', lambda _name, args: need(args == ['build'], f'{args}'),
     'the folder is named; test run_tests runs it'),
    ('tools/fio-source', lambda _name, args: need(args == ['build/fio-source'], f'{args}'),
     'the folder is named; quickstart test runs it'),
    ('fio', fio, 'options are known; test weir_fio runs jobs'),
    ('tools/nightly-arm64', by_its_help, 'options are known; CI runs it with --short'),
    ('weir-bench', measurement, 'runs, over shm, for a short time; suite guest has verbs'),
    ('weir-nfsd', file_server, 'runs, over shm; suite guest has verbs'),
    ('weir-nfs', file_client, 'runs, over shm, with a server; suite guest has verbs'),
    ('*/weir-hostile', hostile, 'runs, over shm, with few cases; tests weir_hostile have all'),
    ('test/hostile/make-calls', hostile_calls, 'runs'),
    ('test/hostile/results', hostile_results, 'makes the results of one case'),
    ('*/weir-sim', simulation, 'runs with few seeds; tests weir_sim have more'),
    ('weir-check', by_its_help, 'options and files are there; test weir_check runs it'),
    ('weir-decode', as_written, 'runs'),
    ('build/bench/*', as_written, 'runs'),
    ('build/test/rpc/*', as_written, 'runs'),
    ('build-fuzz/test/fuzz/fuzz_*', fuzzer,
     'source, folders and time are there; CI runs each fuzzer'),
    ('bench/idle', idle, 'runs a part for a short time'),
    ('bench/stalls', stalls, 'runs for a short time'),
    ('bench/compare', by_its_help, 'options are known; test compare runs the parts'),
    ('bench/micro/check_*.py', by_its_help,
     'options and files are there; tests instruction_budget and loads_that_wait run it'),
    ('test/guest/run', guest, 'options are known, scripts are there; suite guest runs it'),
    ('modprobe', root_command, 'a script that suite guest runs has it'),
    ('mount', root_command, 'a script that suite guest runs has it'),
    ('rdma', root_command, 'a script that suite guest runs has it'),
    ('meson', meson, 'configures; lists tests; names what would be compiled; installs'),
    ('valgrind', with_real_programs, 'runs'),
    ('python3', python, 'runs, with the build of the test'),
    ('tshark', as_written, 'runs'),
    ('ibv_devices', on_the_model, 'runs on the model of the build'),
    ('cc', as_written, 'runs'),
    ('cp', as_written, 'runs'),
    ('make', make, 'variables and targets are known; suite install runs it'),
    ('mkdir', as_written, 'runs'),
    ('pkg-config', as_written, 'runs'),
    ('tar', as_written, 'runs'),
    ('curl', read_metrics, 'has the socket and the address; suite install reads the metrics'),
    *[(name, example, 'options are known; suite install runs it') for name in EXAMPLES],
]


def class_of(name):
    for pattern, function, what in CLASSES:
        if fnmatch.fnmatchcase(name, pattern):
            return function, what
    raise Wrong(f'{name} is in no class of test/doc/stand_in.py')


def main(name, args):
    SETUP.read(os.environ['WEIR_DOC'])
    began, status, what = time.monotonic(), 1, ''
    try:
        function, what = class_of(name)
        function(name, args)
        status = 0
    except (Wrong, OSError, subprocess.SubprocessError) as error:
        print(f'{os.environ.get("WEIR_DOC_AT")}: {error}', file=sys.stderr)
    line = {'at': os.environ.get('WEIR_DOC_AT'), 'command': [name, *args], 'class': what,
            'status': status, 'seconds': round(time.monotonic() - began, 2)}
    if 'WEIR_DOC_INNER' in os.environ:
        return status  # another program calls this one, and not a page
    with (SETUP.scratch / 'log').open('a', encoding='utf-8') as log:
        log.write(json.dumps(line) + '\n')
    return status


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:]))
