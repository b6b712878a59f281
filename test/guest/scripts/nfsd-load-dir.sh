# SPDX-License-Identifier: BSD-3-Clause
# limit: 7200
# The kernel's NFS client works for a long time on weir-nfsd's back end dir, see nfsd-load.sh in the
# folder above. Started by hand, because it takes long, in a guest of 6 GiB: test/guest/run --memory
# 6144 SCRIPT.
export=dir
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/nfsd-load.sh"
