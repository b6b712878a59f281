# SPDX-License-Identifier: BSD-3-Clause
# limit: 900
# weir-hostile over verbs against weir-nfsd, weir-bench and the kernel's server. weir-bench as a
# requester only has the cases that differ over verbs, because a process takes seconds to start
# here. It has a short timeout, which ends calls whose replies are dropped. The kernel's server may
# answer in any way. The results are stored with the logs, for doc/conformance.rst.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
PROFILE=$WEIR_SOURCE/config/laptop.ini

hostile() { # NUMBER LABEL OPTION...
	local number=$1 label=$2
	shift 2
	SECONDS=0
	"$WEIR_BUILD/test/hostile/weir-hostile" --driver verbs --label "$label" \
		--json "/run/guest/$number.json" --settle 100 --quiet "$@"
	echo "$label: $SECONDS s"
}

"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4" --export files=ram:16m \
	--no-mount --profile "$PROFILE" --foreground >/run/said &
server=$!
wait_for "weir-nfsd to listen" listens 20049
awk '{print $NF; exit}' /run/said >/run/handle
hostile 3 'weir-nfsd, verbs' --connect "$ADDR4" --program nfs --handle @/run/handle --case all \
	--seed 1 --count 100
kill "$server"
wait "$server" # the server must end normally after all cases

sed 's/^\[connection\]$/&\nprotocol = auto\nextension = all/' "$PROFILE" >/run/v2.ini
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4:20050" \
	--export files=ram:16m --no-mount --profile /run/v2.ini --foreground >/run/said &
server=$!
wait_for "weir-nfsd to listen" listens 20050
awk '{print $NF; exit}' /run/said >/run/handle
hostile 6 'weir-nfsd, verbs' --connect "$ADDR4:20050" --protocol v2 --program nfs \
	--handle @/run/handle --case all --seed 1 --count 100
kill "$server"
wait "$server"

cat >/run/small.ini << END
[memory]
pages = 4k
send_buffers = 64
recv_buffers = 64
long_buffers = 2
long_buffer_bytes = 64k
bulk_buffers = 2
bulk_buffer_bytes = 64k
[connection]
credits = 8
call_timeout_ms = 1000
END
bench="$WEIR_BUILD/bench/weir-bench/weir-bench --driver verbs --connect $ADDR4:4711"
bench+=' --profile /run/small.ini --lcores any'
hostile 4 'weir-bench, verbs' --listen "$ADDR4:4711" --timeout 60000 --case reply-overrun \
	--case write-handle --case reject --case accept-private-short --seed 1 --count 20 \
	--run "$bench --workload read --size 1000 --calls 50 --quiet >/dev/null 2>&1"

knfsd_up
nfs stat / | awk '$1 == "handle" {print $2}' >/run/handle
status=0
hostile 5 "Linux $(uname -r) nfsd, verbs" --connect "$ADDR4" --program nfs --handle @/run/handle \
	--case all --timeout 1500 || status=$?
[[ $status -le 1 ]]
echo "note: the kernel's server: $(grep -c '"ok": false' /run/guest/5.json) of" \
	"$(grep -c '"ok"' /run/guest/5.json) cases are not as RFC 8166 has it"
# The server is not stopped, because it may be unable to stop. The guest ends after this script.
