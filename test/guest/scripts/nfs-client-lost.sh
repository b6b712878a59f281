# SPDX-License-Identifier: BSD-3-Clause
# limit: 900
# weir-nfs over verbs with the Linux kernel's NFS/RDMA server: commands that fail, a server that
# restarts meanwhile, and bench.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/knfsd.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up
knfsd_up

echo '== exit statuses'
expect 1 nfs get missing /run/missing
[[ ! -e /run/missing ]]
expect 1 nfs cat "$(printf 'n%.0s' $(seq 256))"
expect 4 nfs get -r / /proc/no
expect 2 nfs get

echo '== a server that restarts meanwhile'
head -c 96M /dev/urandom >/run/large
nfs put /run/large large 2>/run/said &
put=$!
wait_for 'the first bytes' test -s /run/export/large
knfsd_stop
knfsd_start
wait "$put" || { cat /run/said; false; }
cat /run/said
cmp /run/large /run/export/large
mkdir /run/into
nfs get large /run/into/got 2>/run/said &
get=$!
# Files have a temporary name until all of them are complete.
wait_for 'the first bytes' eval '[[ -n $(find /run/into -type f -size +0) ]]'
knfsd_stop
knfsd_start
wait "$get" || { cat /run/said; false; }
cat /run/said
cmp /run/large /run/into/got
rm /run/export/large

echo '== bench'
nfs bench --size 4m --ratio 50 --time 2 --warmup 0.5 --verify --json /run/bench.json
python3 -c "
import json
result = json.load(open('/run/bench.json'))
assert result['errors'] == 0 and result['verify_failures'] == 0 and result['calls'] > 100, result
assert result['counters']['bulk_copies'] == 0 and result['counters']['registrations'] == 0, result
print('note: weir-nfs on the kernel\'s server, 4 KiB, depth 16: %d reads/s, %d writes/s'
      % (result['reads_per_s'], result['writes_per_s']))"
[[ ! -e /run/export/.weir-nfs-bench ]]
knfsd_down
