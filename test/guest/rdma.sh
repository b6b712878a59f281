# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts: soft RoCE in the guest. All of it can be repeated, because scripts share a
# boot.
ADDR4=10.77.0.1
ADDR6=fd77::1
DEVICE=rxe0

trap 'echo "$0: line $LINENO failed: $BASH_COMMAND" >&2' ERR

# Makes an rxe device on one end of a veth pair, with an address of each family.
rdma_up() {
	modprobe -a rdma_rxe rdma_ucm ib_uverbs veth
	[[ ! -e /sys/class/infiniband/$DEVICE ]] || return 0
	ip link add v0 type veth peer name v1
	ip addr add "$ADDR4/24" dev v0
	ip addr add "$ADDR6/64" dev v0 nodad
	ip link set v0 up
	ip link set v1 up
	rdma link add "$DEVICE" type rxe netdev v0
	wait_for "$DEVICE to be active" grep -q ACTIVE "/sys/class/infiniband/$DEVICE/ports/1/state"
}

# rdma_up_over INTERFACE ADDRESS: makes an rxe device on a cable to another guest.
rdma_up_over() {
	modprobe -a virtio_net rdma_rxe rdma_ucm ib_uverbs
	wait_for "$1" test -e "/sys/class/net/$1"
	ip addr add "$2/24" dev "$1"
	ip link set "$1" up
	rdma link add "$DEVICE" type rxe netdev "$1"
	wait_for "$DEVICE to be active" grep -q ACTIVE "/sys/class/infiniband/$DEVICE/ports/1/state"
}

# fails COMMAND...: the command must fail. A command that '!' inverts never ends a script by 'set
# -e'.
fails() {
	if "$@"; then
		echo "did not fail: $*" >&2
		return 1
	fi
}

# wait_for WHAT COMMAND...: waits until the command succeeds, up to WAIT_SECONDS.
wait_for() {
	local what=$1 end=$((SECONDS + ${WAIT_SECONDS:-30}))
	shift
	while ((SECONDS < end)); do
		if "$@" >/dev/null 2>&1; then
			return 0
		fi
		sleep 0.1
	done
	echo "never came: $what" >&2
	return 1
}

listens() { # PORT of rdma_cm
	rdma resource show cm_id | grep 'state LISTEN' | grep -q ":$1 "
}

listens_tcp() { # PORT
	ss -Htln "sport = :$1" | grep -q .
}
