# SPDX-License-Identifier: BSD-3-Clause
# limit: 600
# A device is removed. Both sides of a connection and all listeners get an event, nothing hangs, and
# the removal completes. When the device is back, nothing prevents a new start.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
bench=$WEIR_BUILD/bench/weir-bench/weir-bench
ip link add w0 type veth peer name w1
ip addr add 10.78.0.1/24 dev w0
ip link set w0 up
ip link set w1 up

device_up() {
	rdma link add rxe1 type rxe netdev w0
	wait_for "rxe1 to be active" grep -q ACTIVE /sys/class/infiniband/rxe1/ports/1/state
}

# The removal waits until processes close the device, so that all processes that have it open must
# end.
device_down() {
	rdma link delete rxe1 &
	removal=$!
}

is_down() {
	wait "$removal"
	[[ ! -e /sys/class/infiniband/rxe1 ]]
}

device_up
"$bench" --driver verbs --driver-options device=rxe1 --listen 10.78.0.1 \
	--quiet >/run/responder.log 2>&1 &
responder=$!
wait_for "weir-bench's responder" listens 20049
"$bench" --driver verbs --driver-options device=rxe1 --connect 10.78.0.1 --time 100 \
	--quiet >/run/requester.log 2>&1 &
requester=$!
connected() { rdma resource show cm_id | grep -q 'state CONNECT'; }
wait_for "a connection" connected
sleep 1
device_down
expect 1 wait "$requester"
cat /run/requester.log
grep -q 'device removed' /run/requester.log
expect 1 wait "$responder"
cat /run/responder.log
grep -q 'device removed' /run/responder.log
grep -q 'no requester can connect' /run/responder.log
is_down

# weir-nfsd is idle after it served a client. In the second round it is a server that a supervisor
# would have started again.
for address in 10.78.0.1 0.0.0.0; do
	device_up
	"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --driver-options device=rxe1 \
		--listen "$address" \
		--export files=ram:16m --no-mount --profile "$WEIR_SOURCE/config/laptop.ini" \
		--foreground >/run/said 2>&1 &
	server=$!
	WAIT_SECONDS=60 wait_for "weir-nfsd" grep -q 'export /files handle' /run/said
	handle=$(awk '/export .files handle/ {print $NF}' /run/said)
	WEIR_NFS_HANDLE=$handle "$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs \
		--driver-options device=rxe1 --server 10.78.0.1 ls
	device_down
	expect 3 wait "$server"
	cat /run/said
	grep -q 'no client can connect' /run/said
	is_down
done
ip link delete w0
