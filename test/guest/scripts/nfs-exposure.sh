# SPDX-License-Identifier: BSD-3-Clause
# limit: 1500
# Exposure policies with the Linux kernel in both roles. weir-nfs uses the kernel's server with
# windows, with and without remote invalidation, and with long-lived keys. The kernel's client uses
# weir-nfsd, which invalidates the client's keys or leaves that to the client.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
knfsd_up

mkdir -p /run/tree/a
for size in 0 1 4095 4097 65536 1048577; do
	head -c "$size" /dev/urandom >"/run/tree/size-$size"
done
for i in $(seq 30); do
	head -c $((i * 137)) /dev/urandom >"/run/tree/a/$i"
done
ln -s "$(printf 'long/%.0s' $(seq 400))end" /run/tree/a/long-link

profile() { # NAME POLICY REMOTE_INVALIDATION
	printf '[exposure]\npolicy = %s\nremote_invalidation = %s\n' "$2" "$3" >"/run/$1.ini"
}

profile window window yes
profile local window no
profile pool pool yes

for name in window local pool; do
	echo "== weir-nfs, $name"
	nfs --profile "/run/$name.ini" put -r /run/tree tree \
		2>/run/said || { cat /run/said; false; }
	diff -r --no-dereference /run/tree /run/export/tree
	rm -rf /run/back
	mkdir /run/back
	nfs --profile "/run/$name.ini" get -r tree /run/back \
		2>/run/said || { cat /run/said; false; }
	diff -r --no-dereference /run/tree /run/back/tree
	[[ $name != pool ]] || grep -q "exposure policy 'pool'" /run/said # a warning is logged
	nfs --profile "/run/$name.ini" bench --size 1m --block 16k --ratio 50 --time 1 --warmup 0 \
		--verify --json "/run/$name.json" 2>/run/said || { cat /run/said; false; }
	rm -r /run/export/tree
done
python3 -c "
import json
for name in ('window', 'local', 'pool'):
    result = json.load(open('/run/%s.json' % name))
    c = result['counters']
    print('note: weir-nfs on the kernel\'s server, %s: %d calls, %d windows, '
          'keys ended by the server %d, here %d' %
          (name, result['calls'], c['windows_bound'], c['keys_ended_remote'],
           c['keys_ended_local']))
    assert result['errors'] == 0 and result['verify_failures'] == 0 and result['calls'] > 20, result
    assert (c['windows_bound'] > 0) == (name != 'pool'), name
    assert (c['keys_ended_remote'] > 0) == (name == 'window'), name
    assert (c['keys_ended_local'] > 0 if name == 'local' else
            name == 'window' or c['keys_ended_local'] == 0), name
"
knfsd_down

printf '[/ram]\nbackend = ram:64m\nroot_squash = no\n' >/run/exports
MNT=/run/mnt
mkdir $MNT
SERVER=
trap 'umount -lf $MNT 2>/dev/null || true; [[ -z $SERVER ]] || kill "$SERVER" 2>/dev/null || true' \
	EXIT
for name in window local; do
	echo "== weir-nfsd, $name"
	"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4" \
		--exports /run/exports --mount-port 20048 \
		--no-rpcbind --profile "/run/$name.ini" --foreground &
	SERVER=$!
	wait_for "MOUNT's port, the first time" listens_tcp 20048 ||
		wait_for "MOUNT's port" listens_tcp 20048
	options="vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048"
	mount -t nfs -o "$options,mountaddr=$ADDR4" "$ADDR4:/ram" $MNT
	cp -a /run/tree $MNT/tree
	sync
	echo 3 >/proc/sys/vm/drop_caches
	diff -r --no-dereference /run/tree $MNT/tree
	# A counter of the client: replies after which it had to invalidate keys itself.
	awk '/xprt:[ \t]*rdma/ {print $27, $17}' /proc/self/mountstats >"/run/$name.inv"
	read -r local_inv replies <"/run/$name.inv"
	echo "note: the kernel's client on weir-nfsd, $name: local invalidations $local_inv" \
		"(of $replies bytes of replies)"
	umount $MNT
	kill "$SERVER"
	wait "$SERVER" || true
	SERVER=
done
read -r with _ </run/window.inv
read -r without _ </run/local.inv
((with < without))
