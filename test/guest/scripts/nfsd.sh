# SPDX-License-Identifier: BSD-3-Clause
# limit: 600
# The kernel's NFS client mounts weir-nfsd over RDMA: a tree of files goes in, comes back the same, and the protocol that it
# took is what was asked for. Back ends ram and dir in turn.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
modprobe -a rpcrdma nfsv3
WORK=$(mktemp -d)
mount -t tmpfs none "$WORK"
mkdir "$WORK/tree" "$WORK/dir" "$WORK/mnt"
# A file system of its own for dir: listing one of the kind of /tmp while it changes is not steady in all kernels.
modprobe -a loop ext4
truncate -s 256M "$WORK/image"
mkfs.ext4 -q -b 4096 "$WORK/image"
mount -o loop "$WORK/image" "$WORK/dir"
rmdir "$WORK/dir/lost+found"

# Sizes around those at which a message takes another form, and a few names.
for size in 0 1 2 3 4 5 100 1000 1023 1024 1025 3000 4095 4096 4097 65535 65536 65537 1000003 1048576 3145731; do
	head -c "$size" /dev/urandom > "$WORK/tree/file $size"
done
mkdir -p "$WORK/tree/a/b/c"
ln -s ../file\ 100 "$WORK/tree/a/link"
ln -s "$(printf 'x%.0s' {1..3000})" "$WORK/tree/a/long link"
for i in {1..300}; do echo "$i" > "$WORK/tree/a/b/$i"; done

sums() { # DIRECTORY
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum && find . -type l -printf '%p %l\n' | sort)
}

copy_and_check() { # the export is mounted on mnt
	local mnt=$WORK/mnt
	cp -a "$WORK/tree" "$mnt/tree"
	sync
	echo 3 > /proc/sys/vm/drop_caches
	sums "$WORK/tree" > "$WORK/sums"
	sums "$mnt/tree" | diff "$WORK/sums" -
	# Past the client's cache: O_DIRECT both ways.
	dd if="$WORK/tree/file 1048576" of="$mnt/direct" bs=65536 oflag=direct status=none
	dd if="$mnt/direct" bs=131072 iflag=direct status=none | cmp - "$WORK/tree/file 1048576"
	truncate -s 500001 "$mnt/direct"
	head -c 500001 "$WORK/tree/file 1048576" | cmp - "$mnt/direct"
	mv "$mnt/tree/a/b/1" "$mnt/tree/renamed"
	ln "$mnt/tree/renamed" "$mnt/tree/hard link"
	[[ $(stat -c %h "$mnt/tree/renamed") = 2 ]]
	[[ $(ls "$mnt/tree/a/b" | wc -l) = 300 ]] # 299 files and c
	python3 "$WEIR_SOURCE/test/guest/fsx" --seconds 8 "$mnt/fsx"
	rm "$mnt/fsx"
	mkfifo "$mnt/fifo"
	! rmdir "$mnt/tree" 2>/dev/null
	rm -r "$mnt/tree" "$mnt/direct" "$mnt/fifo"
	[[ -z $(ls -A "$mnt") ]]
}

serve() {
	"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4" --exports "$WORK/exports" \
		--state "$WORK/state" --mount-port 20048 --no-rpcbind --profile "$WEIR_SOURCE/config/laptop.ini" --foreground &
	SERVER=$!
	# Its memory is touched before it listens, which takes an emulated CPU a while.
	wait_for "MOUNT's port, the first time" listens_tcp 20048 || wait_for "MOUNT's port" listens_tcp 20048
}

cat > "$WORK/exports" << END
[/ram]
backend = ram:64m
root_squash = no
[/dir]
backend = dir:$WORK/dir
root_squash = no
END
serve
trap 'umount -lf "$WORK/mnt" 2>/dev/null || true; kill "$SERVER" 2>/dev/null || true' EXIT
for export in ram dir; do
	mount -t nfs -o "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048,mountaddr=$ADDR4" \
		"$ADDR4:/$export" "$WORK/mnt"
	grep -q "proto=rdma.*port=20049" /proc/mounts
	copy_and_check
	# Counters of the client: reads and writes went by chunks, and no reply was bad.
	awk -v export="$export" '/xprt:[ \t]*rdma/ {
		printf "note: %s: %s read chunks, %s write chunks, %s reply chunks\n", export, $13, $14, $15
		if ($13 == 0 || $14 == 0 || $22 != 0) { print "no chunks, or bad replies: " $0; exit 1 } }' "/proc/self/mountstats"
	umount "$WORK/mnt"
	kill -0 "$SERVER"
done
kill -TERM "$SERVER"
status=0
wait "$SERVER" || status=$?
echo "note: weir-nfsd ended with status $status"
[[ $status = 0 ]]
trap - EXIT
# The kernel ends a process's io_uring, and lets go of its files, a little later than the process.
wait_for "the end of the file system's use" umount "$WORK/dir"
