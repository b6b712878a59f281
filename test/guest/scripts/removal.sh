# SPDX-License-Identifier: BSD-3-Clause
# limit: 120
# A device is taken away under a connection: both sides are told, nothing hangs, and the device can go.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
bench=$WEIR_BUILD/bench/weir-bench/weir-bench
ip link add w0 type veth peer name w1
ip addr add 10.78.0.1/24 dev w0
ip link set w0 up
ip link set w1 up
rdma link add rxe1 type rxe netdev w0
wait_for "rxe1 to be active" grep -q ACTIVE /sys/class/infiniband/rxe1/ports/1/state

"$bench" --driver verbs --driver-options device=rxe1 --listen 10.78.0.1 --quiet >/run/responder.log 2>&1 &
responder=$!
wait_for "weir-bench's responder" listens 20049
"$bench" --driver verbs --driver-options device=rxe1 --connect 10.78.0.1 --time 100 --quiet >/run/requester.log 2>&1 &
requester=$!
connected() { rdma resource show cm_id | grep -q 'state CONNECT'; }
wait_for "a connection" connected
sleep 1
rdma link delete rxe1 &
removal=$!
# It waits for processes to close the device, so for both to end.
status=0
wait "$requester" || status=$?
cat /run/requester.log
[[ $status == 1 ]]
grep -q 'device removed' /run/requester.log
kill -TERM "$responder"
wait "$responder" || true
cat /run/responder.log
grep -q 'device removed' /run/responder.log
wait "$removal"
[[ ! -e /sys/class/infiniband/rxe1 ]]
ip link delete w0
