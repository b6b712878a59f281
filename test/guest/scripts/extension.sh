# SPDX-License-Identifier: BSD-3-Clause
# limit: 1200
# Version 2 and its extension over verbs. The first part uses the Linux kernel's client and server,
# which speak version 1 only. A weir that can speak version 2 and has all of the extension works
# with them as if it had neither. The second part runs between two weir processes.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
knfsd_up
bench=$WEIR_BUILD/bench/weir-bench/weir-bench

mkdir -p /run/tree/a
for size in 0 1 4095 4097 65536 1048577; do
	head -c "$size" /dev/urandom >"/run/tree/size-$size"
done
for i in $(seq 30); do
	head -c $((i * 137)) /dev/urandom >"/run/tree/a/$i"
done
printf '[connection]\nprotocol = auto\nextension = all\n' >/run/auto.ini
printf '[connection]\nprotocol = v2\nextension = all\n' >/run/v2.ini

echo "== weir-nfs on the kernel's server"
nfs --profile /run/auto.ini put -r /run/tree tree
diff -r /run/tree /run/export/tree
mkdir /run/back
nfs --profile /run/auto.ini get -r tree /run/back
diff -r /run/tree /run/back/tree
nfs --profile /run/auto.ini bench --size 1m --block 16k --ratio 50 --time 1 --warmup 0 --verify \
	--json /run/kernel.json
expect 3 nfs --profile /run/v2.ini ls 2>/run/said || { cat /run/said; false; }
grep -q 'does not speak version 2' /run/said
knfsd_down

echo "== the kernel's client on weir-nfsd, then weir-nfs"
printf '[/ram]\nbackend = ram:64m\nroot_squash = no\n' >/run/exports
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4" --exports /run/exports \
	--mount-port 20048 --no-rpcbind --profile /run/auto.ini --foreground &
server=$!
trap 'umount -lf /run/mnt 2>/dev/null || true; kill "$server" 2>/dev/null || true' EXIT
wait_for "MOUNT's port, the first time" listens_tcp 20048 ||
	wait_for "MOUNT's port" listens_tcp 20048
mkdir /run/mnt
mount -t nfs \
	-o "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048,mountaddr=$ADDR4" \
	"$ADDR4:/ram" /run/mnt
cp -a /run/tree /run/mnt/tree
sync
echo 3 >/proc/sys/vm/drop_caches
diff -r /run/tree /run/mnt/tree
umount /run/mnt
"$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs --server "$ADDR4" --export /ram \
	--mount-port 20048 --timeout 20 \
	--profile /run/v2.ini bench --size 1m --block 16k --ratio 50 --time 1 --warmup 0 --verify \
	--json /run/weir.json
kill "$server"
wait "$server" || true
trap - EXIT
python3 -c "
import json
for name in ('kernel', 'weir'):
    result = json.load(open('/run/%s.json' % name))
    c = result['counters']
    print('note: weir-nfs on %s: %d calls, %d by the extension' %
          (name, result['calls'], c['extended_calls']))
    assert result['errors'] == 0 and result['verify_failures'] == 0 and result['calls'] > 20, result
    assert (c['extended_calls'] > 0) == (name == 'weir'), name
"

for extension in off continuation direction placement all; do
	echo "== weir-bench, extension $extension"
	"$bench" --driver verbs --listen "$ADDR4" --lcores 0 --quiet --verify --protocol v2 \
		--extension "$extension" &
	server=$!
	wait_for "weir-bench's responder" listens 20049
	for load in 'null --size 64' 'echo --size 700' 'echo --size 20000' 'read --size 100' \
		'read --size 4096' \
		'write --size 4096' 'write --size 300000 --depth 2' 'mixed --size 8192'; do
		"$bench" --driver verbs --connect "$ADDR4" --lcores 1 --quiet --protocol v2 \
			--extension "$extension" --depth 4 \
			--connections 3 --calls 60 --verify --workload $load
	done
	kill -TERM "$server"
	wait "$server"
done

failed=
for name in calls continue wire_rtr wire_rtr_requester wire_rtr_directions wire_rtr_place \
	wire_rtr_placed; do
	echo "== $name"
	SECONDS=0
	"$WEIR_BUILD/test/rpc/test_rpc_$name" v2+all verbs "$ADDR4" || failed="$failed $name"
	echo "== $name: $SECONDS s"
done
[[ -z $failed ]] || { echo "failed:$failed" >&2; exit 1; }
