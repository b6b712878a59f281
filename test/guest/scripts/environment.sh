# SPDX-License-Identifier: BSD-3-Clause
# limit: 600
# Checks that what the other scripts need works without weir: soft RoCE by IPv4 and IPv6, perftest,
# and the kernel's NFS/RDMA client with the kernel's server.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up
ibv_devinfo -v -d "$DEVICE"

for addr in "$ADDR4" "$ADDR6"; do
	rping -s -a "$addr" -p 7174 -C 10 -S 100 &
	wait_for "rping's server" listens 7174
	timeout 60 rping -c -a "$addr" -p 7174 -C 10 -S 100 -v
	kill $! || true # the program does not always end by itself
done

ib_send_lat -d "$DEVICE" -x 1 -F -s 64 -n 2000 >/run/lat.log 2>&1 &
server=$!
wait_for "ib_send_lat's server" listens_tcp 18515
ib_send_lat -d "$DEVICE" -x 1 -F -s 64 -n 2000 "$ADDR4" | tee /run/lat.out
wait "$server"
echo "note: ib_send_lat -s 64: $(awk '$1 == 64 {print $5}' /run/lat.out) us typical"

. "$WEIR_SOURCE/test/guest/knfsd.sh"
knfsd_up
mkdir -p /run/v3 /run/v4
dd if=/dev/urandom of=/run/export/file bs=1M count=8 status=none
mount -t nfs -o vers=3,retry=0,proto=rdma,port=20049,nolock,mountproto=tcp "$ADDR4:/run/export" \
	/run/v3
mount -t nfs -o vers=4.1,retry=0,proto=rdma,port=20049 "$ADDR4:/" /run/v4
[[ $(md5sum </run/v3/file) == $(md5sum </run/export/file) ]]
[[ $(md5sum </run/v4/file) == $(md5sum </run/export/file) ]]
dd if=/dev/urandom of=/run/v3/written bs=64k count=16 oflag=direct status=none
[[ $(md5sum </run/v4/written) == $(md5sum </run/export/written) ]]
grep -q 'xprt:[[:space:]]*rdma' /proc/self/mountstats

# Frees the ports for other scripts.
umount /run/v3 /run/v4
knfsd_down
