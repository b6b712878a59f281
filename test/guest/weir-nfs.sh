# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts: runs weir-nfs with the server of knfsd.sh.
[[ -e /dev/fd ]] || ln -s /proc/self/fd /dev/fd

client() {
	"$WEIR_BUILD/apps/weir-nfs/weir-nfs" --driver verbs --export /run/export --timeout 20 "$@"
}

nfs() {
	client --server "$ADDR4" "$@"
}

# expect STATUS COMMAND...
expect() {
	local expected=$1 status=0
	shift
	"$@" || status=$?
	[[ $status -eq $expected ]] || { echo "status $status, not $expected: $*" >&2; return 1; }
}
