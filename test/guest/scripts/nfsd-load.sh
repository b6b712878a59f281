# SPDX-License-Identifier: BSD-3-Clause
# limit: 7200
# The kernel's NFS client works for long on weir-nfsd's back end ram, see nfsd-load.sh of the
# directory above. By hand, since it takes a while; it wants a guest of 6 GiB: test/guest/run
# --memory 6144 SCRIPT.
export=ram
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/nfsd-load.sh"
