# SPDX-License-Identifier: BSD-3-Clause
# limit: 900
# What POSIX says of files (test/guest/posix), on the kernel's mount of weir-nfsd over RDMA: back ends ram and dir in turn.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/ext4.sh"
rdma_up
modprobe -a rpcrdma nfsv3
mkdir -p /run/dir /run/mnt
ext4_up 256 /run/dir
printf '[/ram]\nbackend = ram:64m\nroot_squash = no\n[/dir]\nbackend = dir:/run/dir\nroot_squash = no\n' >/run/exports
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4" --exports /run/exports --state /run/state \
	--mount-port 20048 --no-rpcbind --profile "$WEIR_SOURCE/config/laptop.ini" --foreground >/run/said &
SERVER=$!
trap 'umount -lf /run/mnt 2>/dev/null || true; kill "$SERVER" 2>/dev/null || true' EXIT
# Its memory is touched before it listens, which takes an emulated CPU a while.
WAIT_SECONDS=180 wait_for "weir-nfsd" grep -q handle /run/said
failed=
for export in ram dir; do
	mount -t nfs -o "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048,mountaddr=$ADDR4" \
		"$ADDR4:/$export" /run/mnt
	mkdir /run/mnt/posix
	python3 "$WEIR_SOURCE/test/guest/posix" /run/mnt/posix >/run/posix.out || failed="$failed $export"
	sed "s/^/note: $export: /" /run/posix.out
	rmdir /run/mnt/posix || failed="$failed $export"
	umount /run/mnt
done
kill -TERM "$SERVER"
wait "$SERVER"
trap - EXIT
wait_for "the end of the file system's use" umount /run/dir
[[ -z $failed ]] || { echo "failed:$failed" >&2; exit 1; }
