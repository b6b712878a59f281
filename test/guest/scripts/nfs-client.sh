# SPDX-License-Identifier: BSD-3-Clause
# limit: 1500
# weir-nfs over verbs with the Linux kernel's NFS/RDMA server: its ports, trees stored and fetched,
# and all other commands.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
knfsd_up

sums() { # DIRECTORY: checksums of everything below it
	(cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2 && find . -type d | sort &&
		find . -type l -printf '%p %l\n' | sort)
}

echo '== ports'
nfs -v ping 20 2>/run/said | tee /run/ping
grep -q 'the well-known port' /run/said
client --server "$ADDR4:20049" -v ping >/run/said 2>&1
grep -q 'the port that was given' /run/said
client --server "[$ADDR6]" ping
client --server "$ADDR6" ls
expect 3 client --server "$ADDR4:20050" ping
# The kernel does not register rdma.
expect 3 client --server "$ADDR4" --port rpcbind ping 2>/run/said
grep -q 'not registered for netid rdma' /run/said
expect 1 "$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs --server "$ADDR4" \
	--export /run/nothing ls
[[ $(nfs exports) == /run/export ]]
handle=$(nfs stat / | awk '$1 == "handle" {print $2}')
WEIR_NFS_HANDLE=$handle "$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs --server "$ADDR4" ls

echo '== a tree, there and back'
mkdir -p /run/tree/empty /run/tree/small /run/tree/a/b/c
for size in 0 1 3 4095 4096 4097 65536 1048575 1048576 1048577 8388608; do
	head -c "$size" /dev/urandom >"/run/tree/size-$size"
done
for i in $(seq 100); do
	head -c $((i * 37)) /dev/urandom >"/run/tree/small/$i"
done
head -c 100000 /dev/urandom >'/run/tree/a/b/c/a name with blanks'
ln -s ../size-1 /run/tree/a/link
ln -s "$(printf 'long/%.0s' $(seq 400))end" /run/tree/a/long-link
nfs put -r /run/tree tree
diff <(sums /run/tree) <(sums /run/export/tree)
mkdir /run/back
nfs get -r tree /run/back
diff <(sums /run/tree) <(sums /run/back/tree)
nfs get -r --depth 1 --block 4096 tree/small /run/back/small
diff <(sums /run/tree/small) <(sums /run/back/small)
nfs get --depth 64 --block 10007 tree/size-8388608 /run/back/odd
cmp /run/tree/size-8388608 /run/back/odd
[[ $(nfs cat tree/size-8388608 | sha256sum) == $(sha256sum </run/tree/size-8388608) ]]

echo '== written for good'
nfs put --sync /run/tree/size-1048577 synced
cmp /run/tree/size-1048577 /run/export/synced
nfs put - piped </run/tree/size-1048577
cmp /run/tree/size-1048577 /run/export/piped
nfs put /run/tree/size-1 piped # a shorter file replaces it
cmp /run/tree/size-1 /run/export/piped

echo '== a big directory'
mkdir /run/export/big
(cd /run/export/big && seq -f 'entry-%05.0f-with-a-name-that-is-not-so-short' 10000 | xargs touch)
diff <(ls /run/export/big) <(nfs ls big)
[[ $(nfs ls -U big | sort | sha256sum) == $(ls /run/export/big | sort | sha256sum) ]]
rm -r /run/export/big

echo '== names and attributes'
nfs mkdir -p one/two/three
nfs mkdir four
expect 1 nfs mkdir four
expect 1 nfs mkdir five/six
nfs mv synced one/two
cmp /run/tree/size-1048577 /run/export/one/two/synced
nfs ln one/two/synced hard
[[ $(stat -c %h /run/export/hard) -eq 2 ]]
nfs ln -s one/two/synced soft
[[ $(readlink /run/export/soft) == one/two/synced ]]
[[ $(nfs readlink soft) == one/two/synced ]]
nfs readlink tree/a/long-link | cmp - <(readlink /run/tree/a/long-link)
[[ $(nfs cat -L soft | sha256sum) == $(sha256sum </run/tree/size-1048577) ]]
expect 1 nfs cat soft
nfs chmod 0751 hard
[[ $(stat -c %a /run/export/hard) == 751 ]]
nfs truncate 12345 hard
[[ $(stat -c %s /run/export/hard) -eq 12345 ]]
[[ $(nfs stat hard | awk '$1 == "size" {print $2}') -eq 12345 ]]
[[ $(nfs ls -l) == *' soft -> one/two/synced'* ]]
expect 1 nfs rm four
nfs rmdir four one/two/three
expect 1 nfs rmdir one
nfs rm hard soft piped
expect 1 nfs rm hard
nfs rm -r one tree
[[ -z $(ls -A /run/export) ]]
nfs df
knfsd_down
