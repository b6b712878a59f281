# SPDX-License-Identifier: BSD-3-Clause
# limit: 900
# By hand: round trips of weir-bench over verbs by version 1, by version 2 and by each part of its extension, in turn, by size of
# the data. The figures are those of an emulated CPU, where messages are dear and the wire is none; only their ratios
# say something.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
bench=$WEIR_BUILD/bench/weir-bench/weir-bench
printf '[connection]\ntransmissions = 16\n[costs]\nround_trip_ns = 0\noperation_ns = 0\nmessage_ns = 0\ncopy_ns = 0\n' >/run/free.ini
ways='v1 off continuation direction placement all'

way() { # WAY: its options
	case $1 in
	v1) echo --protocol v1 ;;
	*) echo --protocol v2 --extension "$1" ;;
	esac
}

# One responder for all of them, since each polls: what is spoken is what both sides do.
"$bench" --driver verbs --listen "$ADDR4" --lcores 0 --quiet --profile /run/free.ini --protocol auto --extension all &
server=$!
wait_for "weir-bench's responder" listens 20049
for load in 'write 4096' 'write 8192' 'write 65536' 'read 4096' 'read 8192' 'read 65536' 'echo 16384' 'echo 57344'; do
	read -r workload size <<<"$load"
	for round in 1 2 3; do
		for name in $ways; do
			"$bench" --driver verbs --connect "$ADDR4" --lcores 1 --quiet --profile /run/free.ini $(way "$name") \
				--workload "$workload" --size "$size" --time 1 --warmup 0.2 --json "/run/$name.$round.json" >/dev/null
		done
	done
	python3 - "$workload" "$size" $ways <<'PY'
import json, statistics, sys
workload, size, *ways = sys.argv[1:]
cells = []
for way in ways:
    times = [json.load(open('/run/%s.%d.json' % (way, n)))['rtt_ns']['p50'] / 1000 for n in (1, 2, 3)]
    cells.append('%s %.0f' % (way, statistics.median(times)))
print('note: %s of %s bytes, us, medians of 3: %s' % (workload, size, ', '.join(cells)))
PY
done
kill -TERM "$server"
wait "$server"
