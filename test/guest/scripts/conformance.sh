# SPDX-License-Identifier: BSD-3-Clause
# limit: 600
# The driver contract over verbs, on soft RoCE.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
"$WEIR_BUILD/test/driver/test_verbs_conformance" "$ADDR4"
