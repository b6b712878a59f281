# SPDX-License-Identifier: BSD-3-Clause
# limit: 900
# Tests which clients can use an export over RDMA, by address: through MOUNT, with the kernel's
# client, and with a handle alone. A connection to one of the guest's own addresses comes from that
# address, so that the guest acts as two clients. The server runs with its sandbox.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
modprobe -a rpcrdma nfsv3
# The second address is in another network. With a second address of the same network, connections
# would come from the first address.
FIRST=$ADDR4 SECOND=10.77.2.1
ip addr add "$SECOND/24" dev v0
mkdir -p /run/clients/mnt
cat >/run/clients/exports <<END
[/shared]
backend = ram:16m
clients = *(ro) $FIRST(rw)
[/first]
backend = ram:16m
clients = $FIRST/32(no_root_squash)
[/far]
backend = ram:16m
clients = 192.0.2.0/24
END
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen 0.0.0.0 \
	--exports /run/clients/exports --mount-port 20048 \
	--profile "$WEIR_SOURCE/config/laptop.ini" --foreground >/run/clients/said \
	2>/run/clients/notices &
server=$!
WAIT_SECONDS=180 wait_for "the server" grep -q 'export /far handle' /run/clients/said

echo '== the sandbox, and the notice without rpcbind'
cat "/proc/$server"/task/*/status |
	awk '/^Seccomp:|^NoNewPrivs:|^Cap(Eff|Prm|Bnd):/ {print $1, $2}' | sort -u |
	tee /run/clients/status
diff /run/clients/status - <<END
CapBnd: 00000000080040df
CapEff: 00000000080040df
CapPrm: 00000000080040df
NoNewPrivs: 1
Seccomp: 2
END
options=vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048
grep -q "mount -t nfs -o $options HOST:/shared DIRECTORY" /run/clients/notices

echo '== lists'
weir_nfs() { # ADDRESS ARGUMENT...
	local address=$1
	shift
	"$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs --timeout 20 --server "$address" \
		--mount-port 20048 "$@"
}
[[ $(weir_nfs "$FIRST" exports | tr '\n' ' ') == '/shared /first ' ]]
[[ $(weir_nfs "$SECOND" exports | tr '\n' ' ') == '/shared ' ]]

echo '== handles'
for name in shared first far; do
	awk -v name="/$name" '$3 == name {print $NF}' /run/clients/said >"/run/clients/$name"
done
weir_nfs "$FIRST" --handle @/run/clients/first ls
expect 1 weir_nfs "$SECOND" --handle @/run/clients/first ls 2>/run/said
grep -q 'stale file handle' /run/said
expect 1 weir_nfs "$FIRST" --handle @/run/clients/far ls 2>/run/said
grep -q 'stale file handle' /run/said
weir_nfs "$FIRST" --handle @/run/clients/shared mkdir made
expect 1 weir_nfs "$SECOND" --handle @/run/clients/shared mkdir other 2>/run/said
grep -qi 'read-only' /run/said

echo '== mounts'
mount_from() { # ADDRESS EXPORT
	mount -t nfs -o vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048,retry=0 \
		"$1:$2" /run/clients/mnt
}
mount_from "$FIRST" /first
echo hello >/run/clients/mnt/file
[[ $(stat -c %u /run/clients/mnt/file) == 0 ]]
umount /run/clients/mnt
mount_from "$SECOND" /shared
[[ -d /run/clients/mnt/made ]]
fails touch /run/clients/mnt/file
umount /run/clients/mnt
fails mount_from "$SECOND" /first
fails mount_from "$FIRST" /far

kill "$server"
wait "$server"
ip addr del "$SECOND/24" dev v0
