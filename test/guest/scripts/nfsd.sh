# SPDX-License-Identifier: BSD-3-Clause
# limit: 1800
# The kernel's NFS client mounts weir-nfsd over RDMA. It stores a tree of files and reads it back
# unchanged, and the protocol is the one that was asked for. The back ends are ram and dir, one
# after the other. Then weir-nfs does the same. Both ask rpcbind where the server is.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/ext4.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
modprobe -a rpcrdma nfsv3
WORK=$(mktemp -d)
mount -t tmpfs none "$WORK"
mkdir "$WORK/tree" "$WORK/dir" "$WORK/mnt"
ext4_up 256 "$WORK/dir"

# Sizes near those at which a message takes another form, and a few names.
for size in 0 1 2 3 4 5 100 1000 1023 1024 1025 3000 4095 4096 4097 65535 65536 65537 1000003 \
	1048576 3145731; do
	head -c "$size" /dev/urandom > "$WORK/tree/file $size"
done
mkdir -p "$WORK/tree/a/b/c"
ln -s ../file\ 100 "$WORK/tree/a/link"
ln -s "$(printf 'x%.0s' {1..3000})" "$WORK/tree/a/long link"
for i in {1..300}; do echo "$i" > "$WORK/tree/a/b/$i"; done

sums() { # DIRECTORY
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum &&
		find . -type l -printf '%p %l\n' | sort)
}

copy_and_check() { # the export is mounted on mnt
	local mnt=$WORK/mnt
	cp -a "$WORK/tree" "$mnt/tree"
	sync
	echo 3 > /proc/sys/vm/drop_caches
	sums "$WORK/tree" > "$WORK/sums"
	sums "$mnt/tree" | diff "$WORK/sums" -
	# Bypasses the client's cache: O_DIRECT for both reads and writes.
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
	fails rmdir "$mnt/tree" 2>/dev/null
	rm -r "$mnt/tree" "$mnt/direct" "$mnt/fifo"
	[[ -z $(ls -A "$mnt") ]]
}

serve() { # [ADDRESS]
	rm -f "$WORK/said" "$WORK/notices"
	"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "${1:-$ADDR4}" \
		--exports "$WORK/exports" \
		--state "$WORK/state" --profile "$WEIR_SOURCE/config/laptop.ini" \
		--foreground >"$WORK/said" 2> >(tee "$WORK/notices" >&2) &
	SERVER=$!
	# The server writes to all of its memory before it listens, which takes an emulated CPU some
	# time.
	WAIT_SECONDS=180 wait_for "the server" grep -q handle "$WORK/said"
}

registered() { # PROGRAM: prints netids and universal addresses that rpcbind has
	rpcinfo | awk -v program="$1" '$1 == program && $2 == 3 {print $3, $4}' | sort
}

ask() { # EXPORT COMMAND...
	"$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs --timeout 20 --port rpcbind \
		--server "$ADDR4" --export "/$1" "${@:2}"
}

# weir-nfs with weir-nfsd over verbs. It asks rpcbind for the ports of both NFS and MOUNT.
copy_and_check_weir() { # EXPORT
	ask "$1" put -r "$WORK/tree" tree
	ask "$1" get -r tree "$WORK/back"
	sums "$WORK/back" | diff "$WORK/sums" -
	rm -r "$WORK/back"
	ask "$1" rm -r tree
	[[ -z $(ask "$1" ls) ]]
}

check_records() { # FILE
	python3 "$WEIR_SOURCE/test/guest/sync-records" check "$1" "$WORK/acknowledged"
}

has_more_than() { # RECORDS
	(($(wc -l < "$WORK/acknowledged") > $1))
}

# The server is killed while the client writes with FILE_SYNC. No acknowledged byte is lost, and the
# client continues with the next server.
killed_under_writes() { # the export dir is mounted on mnt
	local round written=0
	: > "$WORK/acknowledged"
	python3 "$WEIR_SOURCE/test/guest/sync-records" write "$WORK/mnt/records" \
		"$WORK/acknowledged" &
	local writer=$!
	for round in 1 2 3; do
		WAIT_SECONDS=180 wait_for "records on server $round" has_more_than $((written + 20))
		[[ $round = 3 ]] && break
		kill -KILL "$SERVER"
		wait "$SERVER" || true
		written=$(wc -l < "$WORK/acknowledged")
		# Checks the records on the server's disk, because the client has no server to ask.
		check_records "$WORK/dir/records"
		serve
	done
	kill -TERM "$writer"
	wait "$writer"
	echo 3 > /proc/sys/vm/drop_caches
	check_records "$WORK/mnt/records"
	cmp "$WORK/mnt/records" "$WORK/dir/records"
	[[ $(stat -c %s "$WORK/mnt/records") = $(($(wc -l < "$WORK/acknowledged") * 4096)) ]]
	# A COMMIT would mean that WRITEs were UNSTABLE.
	awk '$1 == "WRITE:" { writes = $2 } $1 == "COMMIT:" { commits = $2 }
		END {
			printf "note: killed under %d writes, %d commits\n", writes, commits
			exit !(writes > 60 && commits == 0)
		}' \
		/proc/self/mountstats
	rm "$WORK/mnt/records"
}

cat > "$WORK/exports" << END
[/ram]
backend = ram:64m
root_squash = no
[/dir]
backend = dir:$WORK/dir
root_squash = no
END
rpcbind
wait_for "rpcbind" rpcinfo
serve
trap 'umount -lf "$WORK/mnt" 2>/dev/null || true; kill "$SERVER" 2>/dev/null || true' EXIT
# 20049 is 78 * 256 + 81.
[[ $(registered 100003) = "rdma $ADDR4.78.81" ]]
# MOUNT is registered with the address of NFS, and with no other.
[[ $(registered 100005) =~ ^"tcp $ADDR4."[0-9]+"."[0-9]+$ ]]
ask ram -v ping >"$WORK/ping" 2>&1
grep -q 'rpcbind at .* says port 20049' "$WORK/ping"
for export in ram dir; do
	mount -t nfs -o vers=3,proto=rdma,port=20049,nolock "$ADDR4:/$export" "$WORK/mnt"
	grep -q "proto=rdma.*port=20049" /proc/mounts
	copy_and_check
	# Counters of the client: reads and writes used chunks, and no reply was bad.
	awk -v export="$export" '/xprt:[ \t]*rdma/ {
		printf "note: %s: %s read chunks, %s write chunks, %s reply chunks\n",
			export, $13, $14, $15
		if ($13 == 0 || $14 == 0 || $22 != 0) {
			print "no chunks, or bad replies: " $0
			exit 1
		} }' "/proc/self/mountstats"
	umount "$WORK/mnt"
	copy_and_check_weir "$export"
	kill -0 "$SERVER"
done
mount -t nfs -o vers=3,proto=rdma,port=20049,nolock "$ADDR4:/dir" "$WORK/mnt"
killed_under_writes
umount "$WORK/mnt"
kill -TERM "$SERVER"
status=0
wait "$SERVER" || status=$?
echo "note: weir-nfsd ended with status $status"
[[ $status = 0 ]]
trap - EXIT
[[ -z $(registered 100003; registered 100005) ]]
expect 3 ask ram ping 2>"$WORK/ping"
grep -q 'not registered for netid' "$WORK/ping"

# Entries of a killed server at another address stay. The next server says how to remove them.
serve 0.0.0.0
kill -KILL "$SERVER"
wait "$SERVER" || true
serve
wait_for "a notice" grep -q "NFS for netid rdma at 0.0.0.0.78.81, which stays" "$WORK/notices"
[[ $(registered 100003) = "rdma 0.0.0.0.78.81" ]]
$(sed -n "s/.*NFS for netid rdma .* remove the entry: \(rpcinfo [-0-9A-Za-z ]*\).*/\1/p" \
	"$WORK/notices")
[[ -z $(registered 100003) ]]
kill -TERM "$SERVER"
wait "$SERVER"
kill "$(pidof rpcbind)"
# The kernel ends a process's io_uring and closes its files slightly later than it ends the process.
wait_for "the end of the file system's use" umount "$WORK/dir"
