# SPDX-License-Identifier: BSD-3-Clause
# limit: 900
# Started by hand. Tests weir-nfsd's back end dir as after a power cut. The server is killed during
# FILE_SYNC writes of the kernel's client, and the block device is copied in that state. Only a sync
# of the server can have brought data there. Acknowledged data and names must be in that copy. A
# local file that nobody has synced must not be in it, or the copy proves nothing.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/ext4.sh"
rdma_up
modprobe -a rpcrdma nfsv3 loop
mkdir -p /run/dir /run/mnt /run/big /run/copy
mount -t tmpfs -o size=300m none /run/big
ext4_up 192 /run/dir
mount -o remount,commit=900 /run/dir
echo 0 >/proc/sys/vm/dirty_writeback_centisecs
chmod 1777 /run/dir
printf '[/dir]\nbackend = dir:/run/dir\nroot_squash = no\n' >/run/exports

serve() {
	"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4" \
		--exports /run/exports --state /run/state \
		--mount-port 20048 --no-rpcbind --profile "$WEIR_SOURCE/config/laptop.ini" \
		--foreground >/run/said 2>&1 &
	SERVER=$!
	WAIT_SECONDS=120 wait_for "weir-nfsd" grep -q handle /run/said
}

copy_device() { # after that it is mounted at /run/copy
	umount /run/copy 2>/dev/null || true
	dd if=/dev/ram0 of=/run/big/image bs=1M iflag=direct status=none
	mount -o loop /run/big/image /run/copy
}

serve
trap 'umount -lf /run/mnt 2>/dev/null || true; kill "$SERVER" 2>/dev/null || true' EXIT
mount -t nfs -o "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048" "$ADDR4:/dir" \
	/run/mnt
writers=
for k in 1 2 3; do
	: >"/run/log$k"
	python3 "$WEIR_SOURCE/test/guest/sync-records" write "/run/mnt/records$k" "/run/log$k" &
	writers="$writers $!"
done
for round in 1 2 3; do
	sleep 8
	kill -KILL "$SERVER"
	wait "$SERVER" || true
	for k in 1 2 3; do
		cp "/run/log$k" "/run/acknowledged$k"
	done
	copy_device
	for k in 1 2 3; do
		[[ $(wc -l <"/run/acknowledged$k") -gt 5 ]]
		there=$(python3 "$WEIR_SOURCE/test/guest/sync-records" check "/run/copy/records$k" \
			"/run/acknowledged$k")
		echo "note: round $round: $there acknowledged, in the copy"
	done
	serve
done
kill $writers
wait $writers

# Names, and data after a COMMIT.
mkdir /run/mnt/names
for i in $(seq 20); do
	echo "data $i" >"/run/mnt/names/f$i"
done
mv /run/mnt/names/f1 /run/mnt/names/g1
rm /run/mnt/names/f2
ln -s target /run/mnt/names/link
ln /run/mnt/names/f3 /run/mnt/names/h3
mkdir /run/mnt/names/sub
chmod 600 /run/mnt/names/f4
truncate -s 3 /run/mnt/names/f5
dd if=/dev/urandom of=/run/dir/unsynced bs=4k count=1 status=none
copy_device
(cd /run/copy/names && ls) >/run/there
(cd /run/dir/names && ls) | diff - /run/there
[[ $(cat /run/copy/names/g1) = 'data 1' && $(readlink /run/copy/names/link) = target &&
	-d /run/copy/names/sub ]]
[[ $(stat -c %a /run/copy/names/f4) = 600 && $(stat -c %s /run/copy/names/f5) = 3 ]]
for i in $(seq 6 20); do
	[[ $(cat "/run/copy/names/f$i") = "data $i" ]]
done
fails test -s /run/copy/unsynced
umount /run/copy /run/mnt
kill -TERM "$SERVER"
wait "$SERVER"
trap - EXIT
# The kernel ends a process's io_uring and closes its files slightly later than it ends the process.
wait_for "the end of the file system's use" umount /run/dir
umount /run/big
