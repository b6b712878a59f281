# SPDX-License-Identifier: BSD-3-Clause
# limit: 1500
# Started by hand. Compares weir over verbs with other programs in a guest, in turn, for five
# rounds: ib_send_lat, ib_write_bw and ib_read_bw of perftest, and the Linux kernel's NFS client
# with its server, by fio. Each ratio is computed within a round. The figures are those of an
# emulated CPU, so that only ratios mean something. No figure makes the script fail, because bench
# figures are no tests.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
command -v fio >/dev/null || {
	echo "compare: fio is missing. As root, on the host: apt-get install fio" >&2
	exit 1
}
rdma_up
bench=$WEIR_BUILD/bench/weir-bench/weir-bench
"$bench" --driver verbs --listen "$ADDR4" --lcores 0 --quiet --size 1m --working-set 1m &
server=$!
wait_for "weir-bench's responder" listens 20049
trap 'kill "$server" 2>/dev/null || true' EXIT

load() { # NAME OPTION...
	local name=$1
	shift
	"$bench" --driver verbs --connect "$ADDR4" --lcores 1 --quiet --time 1 --warmup 0.2 \
		--json "/run/$name.json" "$@" >/dev/null
}

perftest() { # PROGRAM OPTION...: writes the output of its requester to /run/PROGRAM.out
	local program=$1 other
	shift
	taskset -c 0 "$program" -d "$DEVICE" -x 1 -F "$@" >/run/perftest.log 2>&1 &
	other=$!
	wait_for "$program's server" listens_tcp 18515
	taskset -c 1 "$program" -d "$DEVICE" -x 1 -F "$@" "$ADDR4" >"/run/$program.out"
	wait "$other"
}

for round in 1 2 3 4 5; do
	load null --workload null --size 0
	perftest ib_send_lat -s 68 -n 1000
	load read --workload read --size 1m --working-set 1m --depth 4
	perftest ib_write_bw -s 1048576 -n 20 -t 4
	load write --workload write --size 1m --depth 4
	perftest ib_read_bw -s 1048576 -n 20 -o 4 -t 4
	python3 - <<'PY'
import json
def row(program, size):
    return next(line.split() for line in open('/run/%s.out' % program)
                if line.split()[:1] == [str(size)])
def bench(name):
    return json.load(open('/run/%s.json' % name))
with open('/run/ratios', 'a') as out:
    call = bench('null')['rtt_ns']['p50'] / 1000
    send = float(row('ib_send_lat', 68)[4])
    print('null-rpc/2-x-ib_send_lat %.3f %.1f %.1f us' % (call / (2 * send), call, 2 * send),
          file=out)
    for name, program in (('read', 'ib_write_bw'), ('write', 'ib_read_bw')):
        ours = bench(name)['bytes_per_s'] / 1e6
        theirs = float(row(program, 1 << 20)[3]) * (1 << 20) / 1e6
        print('1-MiB-%s/%s %.3f %.0f %.0f MB/s' % (name, program, ours / theirs, ours, theirs),
              file=out)
PY
done
kill -TERM "$server"
wait "$server"

knfsd_up
mkdir -p /run/m
mount -t tmpfs tmpfs /run/export
exportfs -o rw,no_root_squash,fsid=0,insecure '*:/run/export'
dd if=/dev/urandom of=/run/export/file bs=1M count=32 status=none
mount -t nfs -o vers=3,retry=0,proto=rdma,port=20049,nolock,mountproto=tcp "$ADDR4:/run/export" \
	/run/m
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen "$ADDR4:20050" \
	--export scratch=ram:64m --foreground --no-rpcbind --mount-port 20048 >/run/nfsd.log 2>&1 &
server=$!
wait_for "weir-nfsd" listens 20050
for round in 1 2 3 4 5; do
	fio --name=kernel --filename=/run/m/file --rw=randread --bs=4k --iodepth=16 \
		--ioengine=libaio --direct=1 \
		--size=32m --time_based --runtime=5 --ramp_time=1 --output-format=json \
		--output=/run/fio.json
	"$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs --server "$ADDR4:20050" \
		--export /scratch --mount-port 20048 \
		bench --ratio 100 --block 4k --depth 16 --size 32m --time 5 --warmup 1 \
		--json /run/weir.json
	python3 - <<'PY'
import json
kernel = json.load(open('/run/fio.json'))['jobs'][0]['read']['iops']
ours = json.load(open('/run/weir.json'))['reads_per_s']
with open('/run/ratios', 'a') as out:
    print('nfs-4-KiB-READ-depth-16/kernel %.3f %.0f %.0f IOPS' % (ours / kernel, ours, kernel),
          file=out)
PY
done
kill -TERM "$server"
wait "$server"
trap - EXIT
umount /run/m
knfsd_down
python3 - <<'PY'
rows = [line.split() for line in open('/run/ratios')]
for name in dict.fromkeys(row[0] for row in rows):
    mine = sorted((float(row[1]), row) for row in rows if row[0] == name)
    ratio, (_, _, ours, theirs, unit) = mine[len(mine) // 2]
    print('note: %-32s x %.3f  [%.3f %.3f]  %s and %s %s' %
          (name.replace('-', ' '), ratio, mine[0][0], mine[-1][0], ours, theirs, unit))
PY
