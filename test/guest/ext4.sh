# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts: makes a file system for weir-nfsd's back end dir, which needs one with
# file handles. It is on a RAM disk, where stable writes are done at once. On a loop device, threads
# would carry them out one after the other.

ext4_up() { # MIB DIRECTORY [OPTION...], of mkfs.ext4
	local mib=$1 directory=$2
	shift 2
	modprobe brd rd_nr=1 rd_size=$((mib * 1024))
	modprobe ext4
	mkfs.ext4 -q -b 4096 "$@" /dev/ram0
	mount /dev/ram0 "$directory"
	rmdir "$directory/lost+found"
}
