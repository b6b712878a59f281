# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts. Makes a file system for the back end 'dir' of weir-nfsd, which needs one
# with file handles. The file system is on a RAM disk, where stable writes complete at once. On a
# loop device, threads would carry out these writes one after the other.

ext4_up() { # MIB DIRECTORY [OPTION...], of mkfs.ext4
	local mib=$1 directory=$2
	shift 2
	modprobe brd rd_nr=1 rd_size=$((mib * 1024))
	modprobe ext4
	mkfs.ext4 -q -b 4096 "$@" /dev/ram0
	mount /dev/ram0 "$directory"
	rmdir "$directory/lost+found"
}
