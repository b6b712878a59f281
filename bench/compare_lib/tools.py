# SPDX-License-Identifier: BSD-3-Clause
"""Runs weir's tools and its peers on two cores, and parses their output. Each figure is a number in
SI units or ns."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from state import State, in_one_state

# For each peer, the programs that its figures need, and the command that installs them.
PEERS = {
    'ucx': (('ucx_perftest', 'taskset'), 'apt-get install ucx-utils'),
    'libfabric': (('fi_pingpong', 'taskset'), 'apt-get install libfabric-bin'),
    'callgrind': (('valgrind',), 'apt-get install valgrind'),
    'strace': (('strace',), 'apt-get install strace'),
}


def missing_peers():
    """Returns the names of peers that are not installed, each with the remedy."""
    return {name: cure for name, (programs, cure) in PEERS.items()
            if not all(map(shutil.which, programs))}


class Hangs(RuntimeError):
    """A program did not end. There is no second try, because it would take as long again."""


LATENCIES = ('off', 'calls', 'stages') # values of the profile's key 'latency'
PATIENCE = 120 # seconds to wait for the end of a program, in addition to its measured time


def run(argv, timeout=PATIENCE, env=None):
    full = dict(os.environ, **(env or {}))
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=timeout, env=full)
    except subprocess.TimeoutExpired:
        raise Hangs(f"{' '.join(argv)}: did not end within {timeout} s") from None
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: "
                           f"{(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def read_by(read, text, program):
    """Returns the result of 'read' for a program's output. If 'read' cannot parse the output, the
    program counts as failed."""
    try:
        return read(text)
    # The errors of a missing pattern, of a missing line or field, and of an invalid number.
    except (AttributeError, IndexError, ValueError):
        raise RuntimeError(
            f'{program}: unexpected output: {text.strip()[-400:]!r}') from None


def read_ucx(text):
    """Returns the typical latency in us and the messages per second of ucx_perftest's last line."""
    fields = [line.split() for line in text.splitlines() if line.split() and
              line.split()[0][0].isdigit()][-1]
    return {'typical_us': float(fields[1]), 'messages_per_s': float(fields[-1])}


def read_fi_pingpong(text):
    """Returns the round trip time in ns from fi_pingpong's last line, which has half of it in
    us."""
    lines = text.splitlines()
    column = lines[0].split().index('usec/xfer')
    return 2000 * float(lines[-1].split()[column])


def read_callgrind(text):
    return int(re.search(r'Collected : (\d+)', text).group(1))


def read_strace(text):
    """Returns the total of system calls that 'strace -c -p' counted, or None if it did not trace
    the whole time.

    For a thread without system calls strace prints no table, but reports that it attached and
    detached.
    """
    if not re.search(r'^strace: Process \d+ attached$', text, re.M):
        return None
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 4 and fields[-1] == 'total':
            return int(fields[3] if fields[3].isdigit() else fields[2])
    return 0 if re.search(r'^strace: Process \d+ detached$', text, re.M) else None


def read_smaps_rollup(text):
    """Returns the bytes of memory of a process. If several processes share a page, a part of the
    page counts for each."""
    return 1024 * int(re.search(r'^Pss: +(\d+) kB', text, re.M).group(1))


def wait_for_line(process, text):
    """Waits until the process has printed 'text' on standard error."""
    said = ''
    for line in process.stderr:
        said += line
        if text in line:
            return
    raise RuntimeError(f'it ended without {text!r}: {said.strip()[-400:]}')


class Tools:
    def __init__(self, build, cores, seconds, latency=None):
        """'latency' is the profile's setting of that name for all runs of weir, or None for the
        default."""
        self.build = build
        self.cores = cores.split(',')
        self.time = seconds
        self.port = 13337 + os.getpid() % 1000
        self.counters = [] # counters of each run of weir-bench
        self.latency = latency
        self.is_latency_known = True
        self.profile = None # file with the setting
        self.state = None # state in which the cores must be for all runs, or None for any state

    def path(self, *parts):
        return os.path.join(self.build, 'bench', *parts)

    def is_built(self):
        return os.access(self.path('weir-bench', 'weir-bench'), os.X_OK)

    def latency_lines(self):
        """Returns the lines of a profile that set 'latency'."""
        return f'[engine]\nlatency = {self.latency}\n' if self.latency else ''

    def settings(self):
        """Returns the options of weir-bench that set 'latency'."""
        if not self.latency:
            return []
        if not self.profile:
            self.profile = tempfile.NamedTemporaryFile('w', suffix='.ini')
            self.profile.write(self.latency_lines())
            self.profile.flush()
        return ['--profile', self.profile.name]

    def drop_latency_if_unknown(self):
        """Drops the setting of 'latency' if weir-bench of the build is of a version that does not
        know it."""
        if not self.latency:
            return
        try:
            run([self.path('weir-bench', 'weir-bench'), '--lcores', 'any', '--warmup', '0',
                 '--time', '0.01', '--quiet', '--json', '/dev/null', *self.settings()])
        except RuntimeError as error:
            if not re.search(r'\[engine\] latency:', str(error)):
                raise
            self.latency, self.is_latency_known = None, False

    def says_latency(self):
        """Returns which times the engines of weir measured."""
        if not self.is_latency_known:
            return 'weir measured no times, because this version does not know the setting latency'
        return f'weir ran with latency = {self.latency or "off, the default"}'

    def json_of(self, *argv, seconds=0):
        return json.loads(run([*argv], timeout=PATIENCE + seconds))

    @in_one_state
    def weir(self, workload, size, depth, *more, share=1.0):
        result = self.json_of(self.path('weir-bench', 'weir-bench'), '--workload', workload,
                              '--size', str(size), '--depth', str(depth), '--time',
                              str(self.time * share), '--warmup', '0.3', '--quiet', '--json', '-',
                              '--lcores', ','.join(self.cores), *self.settings(), *more,
                              seconds=self.time * share)
        if result['errors'] or result['verify_failures']:
            raise RuntimeError(f'{result["errors"]} errors in {workload}')
        self.counters.append(result['counters'])
        return result

    def ping(self, count):
        return self.json_of(self.path('micro', 'weir-micro-pingpong'), '--cores',
                            ','.join(self.cores), '--iters', str(count), '--json')

    @in_one_state
    def pingpong(self):
        return self.ping(1000000)

    def keep_to_one_state(self):
        """Restricts all later measurements to the most frequent state of the cores."""
        self.state = State(lambda: self.ping(50000)['p50_ns'])

    @in_one_state
    def spsc(self):
        return self.json_of(self.path('peers', 'weir-peer-spsc'), '--cores', ','.join(self.cores))

    @in_one_state
    def tirpc(self, transport):
        return self.json_of(self.path('peers', 'weir-peer-tirpc'), '--transport', transport,
                            '--cores', ','.join(self.cores))

    @in_one_state
    def memcpy(self, size, share=1.0):
        return self.json_of(self.path('micro', 'weir-micro-memcpy'), '--size', str(size),
                            '--sources', '1', '--targets', '1', '--time', str(self.time * share),
                            '--core', self.cores[1], seconds=self.time * share)['bytes_per_s']

    def beside_memcpy(self, size, workloads, turns):
        """Runs each workload 'turns' times for a short time. Before and after each run, memcpy runs
        with one buffer per side. Yields (workload, result, mean of the two results of memcpy).

        On a shared machine the speed of copies changes by a quarter within a second. Each result is
        therefore compared with the mean of the copies just before and just after it.
        """
        before = self.memcpy(size, share=0.3)
        for workload in workloads * turns:
            result = self.weir(workload, size, 1, share=0.3)
            after = self.memcpy(size, share=0.3)
            yield workload, result, (before + after) / 2
            before = after

    def between(self, server, client, env=None):
        """Runs a server and a client over the loopback interface. Returns the client's output."""
        listening = subprocess.Popen(['taskset', '-c', self.cores[1], *server],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     env=dict(os.environ, **(env or {})))
        try:
            for attempt in range(20):
                time.sleep(0.1)
                try:
                    return run(['taskset', '-c', self.cores[0], *client], env=env)
                except Hangs:
                    raise
                except RuntimeError:
                    if attempt == 19 or listening.poll() is not None:
                        raise
        finally:
            try:
                listening.wait(timeout=5)
            except subprocess.TimeoutExpired:
                listening.kill()
                listening.wait()
        return None

    @in_one_state
    def ucx(self, test, size, count):
        self.port += 1
        env = {'UCX_TLS': 'posix,self', 'UCX_LOG_LEVEL': 'error'}
        return read_by(read_ucx, self.between(['ucx_perftest', '-p', str(self.port)],
                                              ['ucx_perftest', '-p', str(self.port), '127.0.0.1',
                                               '-f', '-t', test, '-s', str(size), '-n', str(count)],
                                              env), 'ucx_perftest')

    @in_one_state
    def libfabric(self, provider, size, count):
        self.port += 1
        load = ['-p', provider, '-e', 'rdm', '-I', str(count), '-S', str(size)]
        return read_by(read_fi_pingpong, self.between(['fi_pingpong', '-B', str(self.port), *load],
                                                      ['fi_pingpong', '-P', str(self.port), *load,
                                                       '127.0.0.1']), 'fi_pingpong')

    def instructions(self, workload, size, depth, *more, calls=5000):
        """Returns the number of instructions of one RPC, for both sides together."""
        # The option was once without a value, which means 'calls'.
        more = [*more, *{'calls': ['--latency'], 'stages': ['--latency=stages']}.get(
            self.latency, [])]
        with tempfile.TemporaryDirectory() as folder:
            said = run(['valgrind', '--log-fd=1', '--tool=callgrind', '--collect-atstart=no',
                        '--toggle-collect=measure', f'--callgrind-out-file={folder}/out',
                        self.path('micro', 'weir-micro-rpc'), '--workload', workload, '--size',
                        str(size), '--depth', str(depth), '--calls', str(calls), *more])
        return read_by(read_callgrind, said, 'valgrind') / calls

    def memory_of(self, connections):
        """Returns the bytes of memory of both sides together. Only one of the connections has
        load."""
        addr = f'weir-compare-{os.getpid()}'
        with tempfile.NamedTemporaryFile('w', suffix='.ini') as profile:
            # With small pages the kernel counts each page that was touched.
            profile.write('[memory]\npages = 4k\n' + self.latency_lines())
            profile.flush()
            common = [self.path('weir-bench', 'weir-bench'), '--profile', profile.name,
                      '--connections', str(connections), '--active', '1']
            server = subprocess.Popen([*common, '--listen', addr, '--lcores', self.cores[1]],
                                      stderr=subprocess.PIPE, text=True)
            client = None
            try:
                wait_for_line(server, 'responder on')
                client = subprocess.Popen([*common, '--connect', addr, '--lcores', self.cores[0],
                                           '--time', '600'],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                          text=True)
                wait_for_line(client, 'connected')
                time.sleep(0.5)
                return sum(read_smaps_rollup(
                    pathlib.Path(f'/proc/{p.pid}/smaps_rollup').read_text(encoding='ascii'))
                           for p in (server, client))
            finally:
                for process in filter(None, (client, server)):
                    process.terminate()
                    process.communicate(timeout=60)

    def idle_connection_bytes(self, connections):
        """Returns the bytes of memory of one idle connection, for both sides together."""
        return (self.memory_of(connections + 1) - self.memory_of(1)) / connections

    def system_calls(self):
        """Returns the number of system calls that the polling thread of each side makes in one
        second under load. A number is None if strace failed."""
        addr = f'weir-compare-{os.getpid()}'
        tool = self.path('weir-bench', 'weir-bench')
        server = subprocess.Popen([tool, '--listen', addr, '--lcores', self.cores[1], '--quiet',
                                   *self.settings()])
        client = None
        total = {}
        try:
            time.sleep(1)
            client = subprocess.Popen([tool, '--connect', addr, '--lcores', self.cores[0],
                                       '--workload', 'mixed', '--depth', '32', '--time', '6',
                                       '--warmup', '1', '--quiet', '--json', '/dev/null',
                                       *self.settings()],
                                      stdout=subprocess.DEVNULL)
            time.sleep(2.5)
            for name, process in (('requester', client), ('responder', server)):
                # The first thread of the process polls.
                trace = subprocess.run(['timeout', '-s', 'INT', '1', 'strace', '-c', '-p',
                                        str(process.pid)],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                total[name] = read_strace(trace.stdout)
            if client.wait(timeout=20) != 0:
                raise RuntimeError(f'weir-bench under strace: exit {client.returncode}')
        finally:
            if client:
                client.kill()
                client.wait()
            server.terminate()
            server.wait(timeout=10)
        return total
