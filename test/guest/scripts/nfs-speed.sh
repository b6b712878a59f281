# SPDX-License-Identifier: BSD-3-Clause
# limit: 700
# 4 KiB READs at depth 16: weir-nfs on weir-nfsd next to the kernel's NFSv3 client on the kernel's server, fio with O_DIRECT
# on tmpfs. Both over the same rxe device, in turn. The figures are those of an emulated CPU; only their ratio
# says something, and none of it fails: bench figures are not tests.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
rdma_up
knfsd_up
mkdir -p /run/m
mount -t tmpfs tmpfs /run/export
exportfs -o rw,no_root_squash,fsid=0,insecure '*:/run/export'
dd if=/dev/urandom of=/run/export/file bs=1M count=32 status=none
mount -t nfs -o vers=3,retry=0,proto=rdma,port=20049,nolock,mountproto=tcp "$ADDR4:/run/export" /run/m
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4:20050" --export scratch=ram:64m --foreground \
	--no-rpcbind --mount-port 20048 >/run/nfsd.log 2>&1 &
server=$!
wait_for "weir-nfsd" listens 20050
for round in 1 2 3 4 5; do
	fio --name=kernel --filename=/run/m/file --rw=randread --bs=4k --iodepth=16 --ioengine=libaio --direct=1 \
		--size=32m --time_based --runtime=5 --ramp_time=1 --output-format=json --output=/run/fio.json
	"$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs --server "$ADDR4:20050" --export /scratch --mount-port 20048 \
		bench --ratio 100 --block 4k --depth 16 --size 32m --time 5 --warmup 1 --json /run/weir.json
	python3 - <<'PY' | tee -a /run/ratios
import json
kernel = json.load(open('/run/fio.json'))['jobs'][0]['read']['iops']
weir = json.load(open('/run/weir.json'))
ours = weir['reads_per_s']
print('%.2f %.0f %.0f' % (ours / kernel, ours, kernel))
PY
done
kill -TERM "$server"
wait "$server"
umount /run/m
sort -n /run/ratios | sed -n 3p | while read -r ratio ours kernel; do
	echo "note: 4 KiB READs at depth 16: weir-nfs on weir-nfsd $ours/s, the kernel's client on its server $kernel/s; ratio $ratio," \
		"the median of 5 rounds ($(cut -d ' ' -f 1 /run/ratios | xargs))"
done
knfsd_down
