# SPDX-License-Identifier: BSD-3-Clause
# limit: 900
# Runs the course of calls of test/apps/nfsd's table on the kernel's server over RDMA. The answers
# of weir-nfsd are compared with these.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/ext4.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
mkdir -p /run/export
ext4_up 256 /run/export
chmod 1777 /run/export
knfsd_up
handle=$(nfs stat / | awk '$1 == "handle" {print $2}')
status=0
for course in table table_attr; do
	"$WEIR_BUILD/test/apps/nfsd/test_nfsd_$course" kernel "$ADDR4" "$handle" || status=$?
done
[[ $status = 0 ]]
knfsd_down
wait_for "the end of the file system's use" umount /run/export
