# SPDX-License-Identifier: BSD-3-Clause
# limit: 1200
# Clients of weir-bench over verbs while another one stalls: all of their calls end well. The figures are those of an emulated
# CPU, so that the part of the throughput that they keep is shown and not judged.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
"$WEIR_SOURCE/bench/stalls" --build "$WEIR_BUILD" --driver verbs --address "$ADDR4" --calls 100 --rounds 1 --before 3 \
	--kinds null,read,list --floor 0
