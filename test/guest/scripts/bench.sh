# SPDX-License-Identifier: BSD-3-Clause
# limit: 1200
# weir-bench between two processes over verbs, by IPv4 and IPv6: each workload with all data
# checked, then the round trip of a null call next to that of ib_send_lat. The figures are those of
# an emulated CPU, so that only their ratio means something.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
bench=$WEIR_BUILD/bench/weir-bench/weir-bench

responder() { # LISTEN-ADDRESS PORT OPTION...
	local addr=$1 port=$2
	shift 2
	"$bench" --driver verbs --listen "$addr" --lcores 0 --quiet "$@" &
	server=$!
	wait_for "weir-bench's responder" listens "$port"
}

requester() { # ADDRESS OPTION...
	local addr=$1
	shift
	"$bench" --driver verbs --connect "$addr" --lcores 1 --quiet "$@"
}

end_responder() {
	kill -TERM "$server"
	wait "$server"
}

# The data are checked. Port 20049 is the default.
responder "$ADDR4" 20049 --verify
for load in 'null --size 64 --calls 300' 'echo --size 700 --calls 300' \
	'echo --size 20000 --calls 100' \
	'read --size 4096 --calls 300' 'read --size 1m --depth 2 --calls 12' \
	'write --size 4096 --calls 300' \
	'write --size 300000 --depth 2 --calls 30' 'mixed --size 8192 --calls 300'; do
	echo "== $load"
	requester "$ADDR4" --connections 3 --depth 4 --verify --workload $load
done
end_responder
responder "[$ADDR6]:20051" 20051 --verify
requester "[$ADDR6]:20051" --workload mixed --size 4096 --depth 8 --calls 300 --verify
end_responder

# Checks that errors are reported.
says() { # TEXT COMMAND...: the command fails and prints the text
	local text=$1
	shift
	fails "$@" >/run/says.log 2>&1
	grep -q "$text" /run/says.log || { cat /run/says.log; return 1; }
}
says 'refused' requester "$ADDR4:20052" --calls 1
says 'no device none' requester "$ADDR4" --driver-options device=none --calls 1
says 'expected ADDR or ADDR:PORT' requester not-an-address --calls 1

# Over shm, weir-bench opens no device, even if there is one.
"$bench" --threads --lcores any --workload null --time 3 --quiet >/run/shm.log &
server=$!
sleep 2
for fd in "/proc/$server/fd/"*; do
	readlink "$fd" || true # the program can have closed it
done >/run/fds.log
grep -q . /run/fds.log
fails grep infiniband /run/fds.log
wait "$server"

# A call of 68 bytes with a reply of 52, and a message of 68 bytes in each direction. Both run in
# turn, and each ratio is computed within a round, because the speed of the emulated CPU changes
# between rounds.
responder "$ADDR4" 20049
for round in 1 2 3 4 5; do
	requester "$ADDR4" --workload null --size 0 --time 1 --warmup 0.2 --json /run/null.json
	taskset -c 0 ib_send_lat -d "$DEVICE" -x 1 -F -s 68 -n 2000 >/run/lat.log 2>&1 &
	other=$!
	wait_for "ib_send_lat's server" listens_tcp 18515
	taskset -c 1 ib_send_lat -d "$DEVICE" -x 1 -F -s 68 -n 2000 "$ADDR4" >/run/lat.out
	wait "$other"
	python3 - <<'PY' | tee -a /run/rounds
import json
call = json.load(open('/run/null.json'))['rtt_ns']['p50'] / 1000
send = next(float(line.split()[4]) for line in open('/run/lat.out') if line.split()[:1] == ['68'])
print('%.3f %.1f %.1f' % (call / (2 * send), call, send))
PY
done
end_responder
sort -n /run/rounds | sed -n 3p | while read -r ratio call send; do
	echo "note: null call over verbs: $call us; ib_send_lat -s 68: 2 x $send us;" \
		"ratio $ratio, the median of 5 rounds" \
		"($(cut -d ' ' -f 1 /run/rounds | xargs))"
done
