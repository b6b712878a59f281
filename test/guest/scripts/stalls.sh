# SPDX-License-Identifier: BSD-3-Clause
# limit: 1800
# Clients of weir-bench over verbs while another client stalls, in each of the ways that
# bench/stalls knows. All calls of the others have to succeed. The CPU is emulated and may be busy
# with other work, so that the share of the throughput that they keep is printed, but no test
# depends on it.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
"$WEIR_SOURCE/bench/stalls" --build "$WEIR_BUILD" --driver verbs --address "$ADDR4" --calls 200 \
	--rounds 1 --before 1 --floor 0 |
	tee /run/stalls
sed 's/^/note: /' /run/stalls
