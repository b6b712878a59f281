# SPDX-License-Identifier: BSD-3-Clause
# limit: 600
# One of two guests: weir-nfsd, until the other one reports that it is done.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up_over eth0 10.77.1.1
"$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --listen 10.77.1.1 --export scratch=ram:64m \
	--foreground --mount-port 20048 --no-rpcbind >/run/nfsd.log 2>&1 &
server=$!
wait_for "weir-nfsd" listens 20049
busybox nc -l -p 7000 </dev/null
kill -TERM "$server"
wait "$server"
cat /run/nfsd.log
