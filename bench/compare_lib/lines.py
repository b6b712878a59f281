# SPDX-License-Identifier: BSD-3-Clause
"""Measures the figures of each round, and prints them as two tables."""
import collections

MIB = 1 << 20


def ask(peer, missing, say, measure):
    """Calls 'measure' if the peer is installed. If the peer fails, reports that and adds the peer
    to 'missing', without a remedy, so that it is not called again. All other peers continue."""
    if peer in missing:
        return
    try:
        measure()
    except RuntimeError as error:
        missing[peer] = None
        say(f'compare: {peer} failed: its lines are left open: {error}')


def measure_round(tools, missing, goals, got, say):
    """Measures one round, in which all programs run in turn. Appends each figure to its list."""
    def ucx(name, test, size, count, figure, scale=1):
        ask('ucx', missing, say,
            lambda: got[name].append(scale * tools.ucx(test, size, count)[figure]))

    pingpong = tools.pingpong()
    got['pingpong'].append(pingpong['p50_ns'])
    got['pingpong_p999'].append(pingpong['p999_ns'])
    null1 = tools.weir('null', 64, 1)['rtt_ns']
    got['null1'].append(null1['p50'])
    got['null1_p999'].append(null1['p999'])
    ucx('ucx_lat', 'ucp_am_lat', 64, 1000000, 'typical_us', 2000)
    spsc = tools.spsc()
    got['spsc_lat'].append(spsc['p50_ns'])
    got['null32'].append(tools.weir('null', 64, 32)['rpc_per_s'])
    ucx('ucx_64', 'ucp_am_bw', 64, 3000000, 'messages_per_s')
    got['spsc_rate'].append(spsc['messages_per_s'])
    for transport in ('unix',) if goals else ('unix', 'tcp'):
        result = tools.tirpc(transport)
        got[f'tirpc_{transport}_lat'].append(result['p50_ns'])
        got[f'tirpc_{transport}'].append(result['rpc_per_s'])
    for provider in () if goals else ('shm', 'tcp'):
        ask('libfabric', missing, say,
            lambda: got[f'fi_{provider}'].append(tools.libfabric(provider, 64, 20000)))
    for workload in ('read', 'write'):
        got[f'{workload}4k'].append(tools.weir(workload, 4096, 32)['rpc_per_s'])
    ucx('ucx_4k', 'ucp_am_bw', 4096, 2000000, 'messages_per_s')
    if not goals:
        ucx('ucx_put_4k', 'ucp_put_bw', 4096, 2000000, 'messages_per_s')
    if goals:
        measure_connections(tools, got)
    for workload, result, copies in tools.beside_memcpy(MIB, ('read', 'write'), turns=3):
        got[f'{workload}1m'].append(result['bytes_per_s'])
        got[f'memcpy_{workload}'].append(copies)


CONNECTIONS = 4096
IN_TURN = 1024


def measure_connections(tools, got):
    """Measures the rate with 32 calls in flight: on one connection beside idle ones, and on many
    connections in turn."""
    one = tools.weir('null', 64, 32)['rpc_per_s']
    for name, load in (('idle', ('--connections', str(CONNECTIONS), '--active', '1')),
                       ('turns', ('--connections', str(IN_TURN), '--in-turn'))):
        got[f'beside_{name}'].append(one)
        got[f'null32_{name}'].append(tools.weir('null', 64, 32, *load)['rpc_per_s'])
        one = tools.weir('null', 64, 32)['rpc_per_s']


def measure(tools, missing, rounds, goals, say):
    """Measures all rounds. Returns a list of values for each figure. The list is empty if the peer
    of the figure is missing."""
    got = collections.defaultdict(list)
    for number in range(rounds):
        say(f'round {number + 1} of {rounds}')
        measure_round(tools, missing, goals, got, say)
    if goals:
        got['idle_bytes'].append(tools.idle_connection_bytes(CONNECTIONS // 4))
    if goals:
        ask('callgrind', missing, say,
            lambda: got['instructions'].append(tools.instructions('null', 64, 32)))
        ask('callgrind', missing, say,
            lambda: got['instructions_begun'].append(tools.instructions('null', 64, 32, '--begin')))
    return got


def print_bounds(table, got):
    """Prints the figures with the bounds that weir must reach, and figures of other peers for
    information."""
    table.over('null 64 B depth 1, p50 over a raw ping-pong', got['null1'], got['pingpong'], 300,
               'ns')
    table.ratio('null 64 B depth 1, p50 to 2 x ucp_am_lat', got['null1'], got['ucx_lat'], 1.0, 'ns',
                least=False, peer='ucx', below=True)
    table.ratio('null 64 B depth 32 to ucp_am_bw -s 64', got['null32'], got['ucx_64'], 0.5, 'M/s',
                1e6, peer='ucx')
    table.ratio('read 4 KiB depth 32 to ucp_am_bw -s 4096', got['read4k'], got['ucx_4k'], 1.0,
                'M/s', 1e6, peer='ucx')
    table.ratio('read 1 MiB to memcpy', got['read1m'], got['memcpy_read'], 0.9, 'GB/s', 1e9)
    table.ratio('write 1 MiB to memcpy', got['write1m'], got['memcpy_write'], 0.9, 'GB/s', 1e9)
    table.ratio('write 4 KiB depth 32 to ucp_put_bw -s 4096', got['write4k'], got['ucx_put_4k'],
                None, 'M/s', 1e6, peer='ucx')
    table.ratio('null 64 B depth 1, p50 to a bare SPSC ring', got['null1'], got['spsc_lat'], None,
                'ns', least=False)
    table.ratio('null 64 B depth 32 to a bare SPSC ring', got['null32'], got['spsc_rate'], None,
                'M/s', 1e6)
    for provider in ('shm', 'tcp'):
        table.ratio(f'null 64 B depth 1, p50 to fi_pingpong -p {provider}', got['null1'],
                    got[f'fi_{provider}'], None, 'ns', least=False, peer='libfabric')
    for transport in ('unix', 'tcp'):
        table.ratio(f'null 64 B depth 1, p50 to libtirpc, {transport}', got['null1'],
                    got[f'tirpc_{transport}_lat'], None, 'ns', least=False)
        table.ratio(f'null 64 B depth 32 to libtirpc, {transport}', got['null32'],
                    got[f'tirpc_{transport}'], None, 'M/s', 1e6)


def print_steady_work(table, tools):
    """Prints how often work occurred that must not occur after the warm-up."""
    for name in ('allocations', 'registrations', 'bulk_copies'):
        worst = max(counters[name] for counters in tools.counters)
        table.line(f'{name.replace("_", " ")} after warm-up, worst run', str(worst), '', '', '= 0',
                   worst == 0)
    if 'strace' in table.missing:
        table.open('system calls of a loaded polling thread', 'strace not installed')
        return
    for name, count in tools.system_calls().items():
        what = f'system calls of the loaded {name}, 1 s'
        if count is None:
            table.open(what, 'strace failed')
        else:
            table.line(what, str(count), '', '', '= 0', count == 0)


# Goals that cannot be measured here, because they need another machine or tool, and the program
# that measures each.
ELSEWHERE = (
    ('guest: null to twice ib_send_lat', 'guest/scripts/compare.sh'),
)


def print_goals(table, got):
    """Prints the figures with the goals for the speed."""
    table.over('null 64 B depth 1, p50 over a raw ping-pong', got['null1'], got['pingpong'], 180,
               'ns')
    table.ratio('null 64 B depth 1, p50 to 2 x ucp_am_lat', got['null1'], got['ucx_lat'], 0.8, 'ns',
                least=False, peer='ucx')
    table.ratio('null 64 B depth 1, p99.9 to p50', got['null1_p999'], got['null1'], 3, 'ns',
                least=False)
    table.ratio('a raw ping-pong, p99.9 to p50: the machine', got['pingpong_p999'], got['pingpong'],
                None, 'ns', least=False)
    table.ratio('null 64 B depth 32 to ucp_am_bw -s 64', got['null32'], got['ucx_64'], 0.75, 'M/s',
                1e6, peer='ucx')
    table.at_most('null 64 B depth 32, instructions, first', got['instructions'], 700, '',
                  peer='callgrind')
    table.at_most('null 64 B depth 32, instructions, then', got['instructions'], 500, '',
                  peer='callgrind')
    table.at_most('the same, weir_call_begin() each time', got['instructions_begun'], None, '',
                  peer='callgrind')
    table.ratio('read 4 KiB depth 32 to ucp_am_bw -s 4096', got['read4k'], got['ucx_4k'], 1.5,
                'M/s', 1e6, peer='ucx')
    table.ratio('write 4 KiB depth 32 to ucp_am_bw -s 4096', got['write4k'], got['ucx_4k'], 1.2,
                'M/s', 1e6, peer='ucx')
    table.ratio('read 1 MiB to memcpy', got['read1m'], got['memcpy_read'], 0.95, 'GB/s', 1e9)
    table.ratio('write 1 MiB to memcpy', got['write1m'], got['memcpy_write'], 0.95, 'GB/s', 1e9)
    table.ratio('null 64 B depth 32 to libtirpc, unix', got['null32'], got['tirpc_unix'], 25, 'M/s',
                1e6)
    table.ratio('null 64 B depth 1, p50 to libtirpc, unix', got['null1'], got['tirpc_unix_lat'],
                1 / 15, 'ns', least=False)
    table.ratio('null 64 B depth 32: 4,096 connections, one active, to one', got['null32_idle'],
                got['beside_idle'], 0.95, 'M/s', 1e6)
    table.ratio('null 64 B depth 32: 1,024 connections in turn to one', got['null32_turns'],
                got['beside_turns'], 0.75, 'M/s', 1e6)
    table.at_most('memory of an idle connection, both sides', got['idle_bytes'], 2 * 24 * 1024,
                  'bytes')
    for what, where in ELSEWHERE:
        table.open(what, where)
