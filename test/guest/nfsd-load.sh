# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts, which set 'export'. The kernel's NFS client works on weir-nfsd for a long
# time: thousands of files, random I/O, git, tar and a compilation, on the back end ram or dir.
FSX_SECONDS=120
. "$WEIR_SOURCE/test/guest/ext4.sh"
rdma_up
modprobe -a rpcrdma nfsv3
[[ -e /dev/fd ]] || ln -s /proc/self/fd /dev/fd # the <( ) of the shell needs it
WORK=$(mktemp -d)
mount -t tmpfs -o size=3g none "$WORK"
mkdir "$WORK/dir" "$WORK/mnt" "$WORK/tree" "$WORK/home"
ext4_up 1536 "$WORK/dir"
export HOME=$WORK/home CCACHE_DISABLE=1
git config --global safe.directory '*'

M=$WORK/mnt
calls() { # number of calls that the client has sent on the mount
	awk '/xprt:[ \t]*rdma/ {print $8}' /proc/self/mountstats
}

step() { # NAME COMMAND...: prints how long it took, and its number of calls
	local name=$1 began=$SECONDS before
	before=$(calls)
	shift
	"$@"
	echo "note: $export: $name: $((SECONDS - began)) s, $(($(calls) - before)) calls"
}

drop() {
	sync
	echo 3 > /proc/sys/vm/drop_caches
}

names() {
	mkdir "$M/names"
	head -c 1000000 /dev/urandom > "$WORK/data"
	cp "$WORK/data" "$M/names/file"
	truncate -s 500001 "$M/names/file"
	drop
	head -c 500001 "$WORK/data" | cmp - "$M/names/file"
	truncate -s 600000 "$M/names/file"
	drop
	cmp <(head -c 500001 "$WORK/data"; head -c 99999 /dev/zero) "$M/names/file"
	mv "$M/names/file" "$M/names/moved"
	[[ ! -e $M/names/file ]]
	echo other > "$M/names/replaced"
	mv "$M/names/moved" "$M/names/replaced"
	[[ $(stat -c %s "$M/names/replaced") = 600000 ]]
	ln "$M/names/replaced" "$M/names/hard"
	[[ $(stat -c %h "$M/names/hard") = 2 && $M/names/hard -ef $M/names/replaced ]]
	ln -s "replaced" "$M/names/soft"
	cmp "$M/names/soft" "$M/names/hard"
	local length target
	# Sizes on both sides of the inline threshold, here 4,096 bytes with the header, and of the
	# length of a long request.
	for length in 1000 3000 3900 4000 4075; do
		target=$(printf 'x%.0s' $(seq "$length"))
		ln -s "$target" "$M/names/soft $length"
		drop
		[[ $(readlink "$M/names/soft $length") = "$target" ]]
	done
	rm -r "$M/names"
}

many_entries() {
	mkdir "$M/many"
	local name
	while read -r name; do : > "$M/many/$name"; done \
		< <(seq -f 'entry-%05.0f-with-a-name-that-is-not-so-short' 10000)
	drop
	diff <(seq -f 'entry-%05.0f-with-a-name-that-is-not-so-short' 10000 | sort) \
		<(ls -U "$M/many" | sort)
	drop
	[[ $(ls -l "$M/many" | tail -n +2 | wc -l) = 10000 ]]
	rm -r "$M/many"
	[[ ! -e $M/many ]]
}

tree_buffered() {
	cp -a "$WORK/tree" "$M/tree"
	drop
	file_tree sums "$M/tree" | diff "$WORK/sums" -
	drop
	file_tree sums --direct "$M/tree" | diff "$WORK/sums" -
	rm -r "$M/tree"
}

tree_direct() {
	mkdir "$M/direct"
	file_tree copy "$WORK/tree" "$M/direct"
	drop
	file_tree sums "$M/direct" | diff "$WORK/sums" -
	rm -r "$M/direct"
}

file_tree() {
	python3 "$WEIR_SOURCE/test/guest/file-tree" "$@"
}

git_clone() {
	git clone -q "file://$WEIR_SOURCE" "$M/clone"
	drop
	git -C "$M/clone" fsck --full --no-progress
	[[ -z $(git -C "$M/clone" status --porcelain) ]]
}

tar_both_ways() {
	tar -C "$M" -cf "$M/clone.tar" clone
	drop
	mkdir "$M/untarred"
	tar -C "$M/untarred" -xf "$M/clone.tar"
	drop
	diff -r "$M/clone" "$M/untarred/clone"
	tar -C "$M/untarred" -cf - clone | tar -C "$WORK" -xf -
	diff -r "$M/clone" "$WORK/clone"
	rm -r "$M/untarred" "$M/clone.tar" "$WORK/clone"
}

# Compiles all of weir's libraries and apps. This is without optimization, which would only use the
# emulated CPU and not the mount. The guest has the tools, because its root is that of the machine
# on which weir is built.
compile() {
	local built=(lib/link/libweir.a "lib/link/libweir.so.$(version)" \
		apps/weir-{decode/weir-decode,nfs/weir-nfs,nfsd/weir-nfsd})
	meson setup "$M/build" "$M/clone" -Dguest=false -Doptimization=0 > "$WORK/meson.log" || {
		tail -30 "$WORK/meson.log"
		return 1
	}
	ninja -C "$M/build" "${built[@]}"
	drop
	local path
	for path in "${built[@]}"; do [[ -s $M/build/$path ]]; done
	"$M/build/apps/weir-nfsd/weir-nfsd" --help > /dev/null
	"$M/build/apps/weir-nfs/weir-nfs" --help > /dev/null
	rm -r "$M/build"
}

version() {
	sed -n "s/.*version: '\([0-9.]*\)'.*/\1/p" "$M/clone/meson.build" | head -1
}

cat > "$WORK/exports" << END
[/ram]
backend = ram:1g
root_squash = no
[/dir]
backend = dir:$WORK/dir
root_squash = no
END
# The client's side of the load keeps both of the guest's CPUs busy. A server that polls would slow
# it down.
sed 's/^idle = .*/idle = sleep/' "$WEIR_SOURCE/config/laptop.ini" > "$WORK/profile.ini"
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4" --exports "$WORK/exports" \
	--state "$WORK/state" --mount-port 20048 --no-rpcbind --profile "$WORK/profile.ini" \
	--foreground &
SERVER=$!
trap 'umount -lf "$M" 2>/dev/null || true; kill "$SERVER" 2>/dev/null || true' EXIT
# The server writes to all of its memory before it listens, which takes an emulated CPU some time.
WAIT_SECONDS=180 wait_for "MOUNT's port" listens_tcp 20048
file_tree make "$WORK/tree"
file_tree sums "$WORK/tree" > "$WORK/sums"
mount -t nfs \
	-o "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048,mountaddr=$ADDR4" \
	"$ADDR4:/$export" "$M"
grep -q "proto=rdma.*port=20049" /proc/mounts
step "truncate, rename, links" names
step "10,000 entries" many_entries
step "random I/O" python3 "$WEIR_SOURCE/test/guest/fsx" --seconds "$FSX_SECONDS" "$M/fsx"
rm "$M/fsx"
step "the tree in, and back buffered and direct" tree_buffered
step "the tree in with O_DIRECT, and back" tree_direct
step "git clone and fsck" git_clone
step "tar" tar_both_ways
step "meson setup, weir's libraries and apps compiled" compile
rm -r "$M/clone"
[[ -z $(ls -A "$M") ]]
# All three kinds of chunk were used, and no reply was bad.
awk -v export="$export" '/xprt:[ \t]*rdma/ {
	seen = 1
	printf "note: %s: %s read chunks, %s write chunks, %s reply chunks, ", export, $13, $14, $15
	printf "%s bad replies, %s bad XIDs, %s connects\n", $22, $10, $5
	if ($13 == 0 || $14 == 0 || $15 == 0 || $22 != 0) {
		print "chunks not in use, or bad replies: " $0
		exit 1
	} }
	END { if (!seen) { print "no RDMA transport"; exit 1 } }' /proc/self/mountstats
umount "$M"
kill -TERM "$SERVER"
status=0
wait "$SERVER" || status=$?
echo "note: weir-nfsd ended with status $status"
[[ $status = 0 ]]
trap - EXIT
# The kernel ends a process's io_uring and closes its files slightly later than it ends the process.
wait_for "the end of the file system's use" umount "$WORK/dir"
