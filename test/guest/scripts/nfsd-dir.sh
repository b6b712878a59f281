# SPDX-License-Identifier: BSD-3-Clause
# limit: 1500
# The back end dir on file systems that the test host may lack: with quotas. No test may be skipped
# here.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/ext4.sh"
modprobe -a loop quota_v2 xfs
mkdir -p /run/tmp
ext4_up 512 /run/tmp
export TMPDIR=/run/tmp
for name in dir dir_acl dir_bound dir_mount dir_tmpfs; do
	"$WEIR_BUILD/test/apps/nfsd/test_nfsd_$name" "$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" dir \
		>/run/tests 2>&1 || { cat /run/tests; exit 1; }
	cat /run/tests
	fails grep SKIPPED /run/tests
done
wait_for "the end of the file system's use" umount /run/tmp
