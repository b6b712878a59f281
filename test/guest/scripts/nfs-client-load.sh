# SPDX-License-Identifier: BSD-3-Clause
# limit: 3600
# weir-nfs over verbs with the Linux kernel's NFS/RDMA server for a long time: stores and fetches
# 2,000 files of 0 to 8 MiB, then random reads and writes with all data checked. Started by hand:
# test/guest/run --memory 3072 SCRIPT. nfs-client.sh has the other commands.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
knfsd_up
mount -t tmpfs none /run/export
exportfs -o rw,no_root_squash,fsid=0,insecure '*:/run/export'
mkdir /run/tree /run/back

file_tree() {
	python3 "$WEIR_SOURCE/test/guest/file-tree" "$@"
}

step() { # NAME COMMAND...: prints how long it took
	local name=$1 began=$SECONDS
	shift
	"$@"
	echo "note: $name: $((SECONDS - began)) s"
}

file_tree make /run/tree
file_tree sums /run/tree >/run/sums
[[ $(wc -l </run/sums) -eq 2000 ]]
step '2,000 files put' nfs --quiet put -r /run/tree tree
file_tree sums /run/export/tree | diff /run/sums -
step '2,000 files put FILE_SYNC, in blocks of 10,007 bytes' nfs --quiet put -r --sync \
	--block 10007 /run/tree again
file_tree sums /run/export/again | diff /run/sums -
rm -r /run/export/again
step '2,000 files fetched' nfs --quiet get -r tree /run/back
file_tree sums /run/back/tree | diff /run/sums -
step '2,000 files removed' nfs rm -r tree
[[ -z $(ls -A /run/export) ]]
nfs bench --size 8m --block 10007 --ratio 50 --time 60 --verify --json /run/bench.json
python3 -c "
import json
result = json.load(open('/run/bench.json'))
assert result['errors'] == 0 and result['verify_failures'] == 0 and result['calls'] > 100, result
print('note: random reads and writes: %d, all checked' % result['calls'])"
umount -l /run/export
knfsd_down
