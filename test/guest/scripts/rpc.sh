# SPDX-License-Identifier: BSD-3-Clause
# limit: 1800
# Requester and responder together over verbs: the programs that also run over shm and sim.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
failed=
for name in calls completion_once receives wire_responder wire_refused wire_requester wire_limits \
	sizes exposure windows sleep; do
	echo "== $name"
	SECONDS=0
	"$WEIR_BUILD/test/rpc/test_rpc_$name" verbs "$ADDR4" || failed="$failed $name"
	echo "== $name: $SECONDS s"
done
for name in shared calls; do
	echo "== $name, with shared receives"
	"$WEIR_BUILD/test/rpc/test_rpc_$name" shared verbs "$ADDR4" || failed="$failed $name-shared"
done
# These runs use the other exposure policy, because 'window' is the usual one over verbs. Some use a
# protection domain for each connection.
for how in completion_once/pool peer/pool domains/own calls/own; do
	echo "== ${how%/*}, ${how#*/}"
	"$WEIR_BUILD/test/rpc/test_rpc_${how%/*}" "verbs/${how#*/}" "$ADDR4" ||
		failed="$failed $how"
done
[[ -z $failed ]] || { echo "failed:$failed" >&2; exit 1; }
