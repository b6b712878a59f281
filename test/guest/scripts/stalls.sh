# SPDX-License-Identifier: BSD-3-Clause
# limit: 1800
# Clients of weir-bench over verbs while another client stalls, in each way that bench/stalls
# supports. All calls of the other clients must succeed. The CPU is emulated and may be busy with
# other work. The share of the throughput that the clients keep is therefore printed, but no test
# depends on it.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
"$WEIR_SOURCE/bench/stalls" --build "$WEIR_BUILD" --driver verbs --address "$ADDR4" --calls 200 \
	--rounds 1 --before 1 --floor 0 |
	tee /run/stalls
sed 's/^/note: /' /run/stalls
