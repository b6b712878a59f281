# SPDX-License-Identifier: BSD-3-Clause
# limit: 900
# Runs test/guest/posix, which tests what POSIX says about files, on the kernel's mount of weir-nfsd
# over RDMA. Both back ends are tested at the same time, because each client mostly waits for
# replies.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/ext4.sh"
rdma_up
modprobe -a rpcrdma nfsv3
mkdir -p /run/dir /run/mnt/ram /run/mnt/dir
# Each call that changes a directory waits for the disk, and with a journal also for another thread.
ext4_up 256 /run/dir -O ^has_journal
cat >/run/exports <<'END'
[/ram]
backend = ram:64m
root_squash = no
[/dir]
backend = dir:/run/dir
root_squash = no
END
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4" --exports /run/exports \
	--state /run/state \
	--mount-port 20048 --no-rpcbind --profile "$WEIR_SOURCE/config/laptop.ini" \
	--foreground >/run/said &
SERVER=$!
trap 'umount -lf /run/mnt/ram /run/mnt/dir 2>/dev/null || true
	kill "$SERVER" 2>/dev/null || true' EXIT
# The server writes to all of its memory before it listens, which takes an emulated CPU some time.
WAIT_SECONDS=180 wait_for "weir-nfsd" grep -q handle /run/said

try() { # EXPORT
	local failed=
	local options="vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048"
	mount -t nfs -o "$options,mountaddr=$ADDR4" "$ADDR4:/$1" "/run/mnt/$1"
	mkdir "/run/mnt/$1/posix"
	python3 "$WEIR_SOURCE/test/guest/posix" "/run/mnt/$1/posix" >"/run/posix-$1.out" ||
		failed=yes
	sed "s/^/note: $1: /" "/run/posix-$1.out"
	rmdir "/run/mnt/$1/posix"
	umount "/run/mnt/$1"
	[[ -z $failed ]]
}

declare -A PIDS
for export in ram dir; do
	try "$export" &
	PIDS[$export]=$!
done
failed=
for export in ram dir; do
	wait "${PIDS[$export]}" || failed="$failed $export"
done
kill -TERM "$SERVER"
wait "$SERVER"
trap - EXIT
wait_for "the end of the file system's use" umount /run/dir
[[ -z $failed ]] || { echo "failed:$failed" >&2; exit 1; }
