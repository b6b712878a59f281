# SPDX-License-Identifier: BSD-3-Clause
# limit: 1200
# Started by hand. Measures single calls of weir-bench over verbs by version 1 and by the extension,
# in turn, by size of the data. The profile's costs are zero, so that the extension is used wherever
# possible. Where version 1 is faster, its explicit RDMA is the better way. The figures are those of
# an emulated CPU, on which messages are expensive and the wire costs nothing, so that only ratios
# mean something. Each figure is the minimum of the rounds' medians, because other work on the
# machine only adds time.
#
# A call takes one round trip, and one more if the responder reads memory of the requester (+n: in n
# pieces).
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
# Packets of 4096 bytes, which RDMA devices use.
ip link set v0 mtu 9000
ip link set v1 mtu 9000
bench=$WEIR_BUILD/bench/weir-bench/weir-bench
cat >/run/free.ini <<'END'
[connection]
transmissions = 16
[costs]
round_trip_ns = 0
operation_ns = 0
message_ns = 0
copy_ns = 0
END
v1='--protocol v1'
all='--protocol v2 --extension all'
rounds='1 2 3 4 5'

# One responder serves both, because each responder polls. The version is the one that both sides
# speak.
"$bench" --driver verbs --listen "$ADDR4" --lcores 0 --quiet --profile /run/free.ini \
	--protocol auto --extension all &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
wait_for "weir-bench's responder" listens 20049
echo "note: call       bytes   version-1, us     extension, us     ratio"
for load in 'write 4096' 'write 8192' 'write 16384' 'write 32768' 'write 65536' 'write 98304' \
	'read 4096' 'read 8192' 'read 16384' 'read 32768' 'read 65536' 'read 98304' \
	'list 4096' 'list 8192' 'list 16384' 'list 32768' 'list 57344'; do
	read -r workload size <<<"$load"
	for round in $rounds; do
		for way in v1 all; do
			"$bench" --driver verbs --connect "$ADDR4" --lcores 1 --quiet \
				--profile /run/free.ini ${!way} \
				--workload "$workload" --size "$size" --calls 200 \
				--json "/run/$way.$round.json" >/dev/null
		done
	done
	python3 - "$workload" "$size" $rounds <<'PY'
import json, sys
workload, size, *rounds = sys.argv[1:]
cells, times = [], {}
for way in ('v1', 'all'):
    results = [json.load(open('/run/%s.%s.json' % (way, n))) for n in rounds]
    times[way] = [result['rtt_ns']['p50'] / 1000 for result in results]
    calls = sum(result['counters']['calls_completed'] for result in results)
    lent = sum(result['counters']['windows_bound'] for result in results) / calls
    extended = sum(result['counters']['extended_calls'] for result in results)
    assert all(result['errors'] == 0 for result in results)
    assert (extended > 0.9 * calls) == (way == 'all'), (way, extended, calls)
    cells.append('%7.0f %d +%-3.2g' % (min(times[way]), 1 + (workload == 'write' and lent > 0.5),
                                       lent))
print('note: %-8s %7s   %s     %s     %.2f' %
      (workload, size, *cells, min(times['all']) / min(times['v1'])))
PY
done
kill -TERM "$server"
wait "$server"
trap - EXIT
