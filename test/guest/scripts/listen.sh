# SPDX-License-Identifier: BSD-3-Clause
# limit: 600
# Failures to listen, and the messages about them: a port that is in use, by any address, and an
# address that no device has.
. "$WEIR_SOURCE/test/guest/rdma.sh"
. "$WEIR_SOURCE/test/guest/weir-nfs.sh"
rdma_up

NFSD=("$WEIR_BUILD/apps/weir-nfsd/weir-nfsd" --driver verbs --export files=ram:4m --no-mount \
	--no-rpcbind
	--profile "$WEIR_SOURCE/config/laptop.ini" --foreground --listen)
BENCH=("$WEIR_BUILD/bench/weir-bench/weir-bench" --driver verbs --quiet --listen)

refused() { # TEXT COMMAND...
	expect 1 "${@:2}" >/run/refused 2>&1
	grep -q "$1" /run/refused || { cat /run/refused; return 1; }
}

# The first and the second listener can each ask for one address or for all addresses.
for taken in "$ADDR4" 0.0.0.0 "[$ADDR6]" '[::]'; do
	"${NFSD[@]}" "$taken" >/run/said 2>&1 &
	server=$!
	WAIT_SECONDS=60 wait_for "the server" grep -q handle /run/said
	case $taken in
	"[$ADDR6]") others="[$ADDR6] [::]" ;;
	'[::]') others="$ADDR4 [$ADDR6] [::]" ;;
	*) others="$ADDR4 0.0.0.0 [::]" ;;
	esac
	for address in $others; do
		echo "$address when $taken is taken"
		refused 'rdma resource show cm_id' "${NFSD[@]}" "$address"
		grep -q "weir-nfsd: can't listen on .*Address already in use" /run/refused
	done
	refused 'rdma resource show cm_id' "${BENCH[@]}" "$taken"
	grep -q "weir-bench: can't listen on .*: Address already in use" /run/refused
	kill "$server"
	wait "$server"
done
for address in 192.0.2.1 '[2001:db8::1]'; do
	refused 'no RDMA device has that address' "${NFSD[@]}" "$address"
	fails grep -q 'rdma resource' /run/refused
done
