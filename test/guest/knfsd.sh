# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts: starts the kernel's NFS server in the guest, over RDMA and TCP, with MOUNT
# and rpcbind. It exports /run/export.

knfsd_up() {
	modprobe -a rpcrdma nfsd nfsv3 nfsv4
	mkdir -p /run/export
	mount -t tmpfs tmpfs /var/lib/nfs
	mkdir -p /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs
	touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/xtab /var/lib/nfs/state
	rpcbind
	mount -t nfsd nfsd /proc/fs/nfsd
	rpc.mountd
	exportfs -o rw,no_root_squash,fsid=0,insecure '*:/run/export'
	knfsd_start
}

knfsd_start() {
	rpc.nfsd 8 # as in Debian's nfs-kernel-server
	echo 'rdma 20049' >/proc/fs/nfsd/portlist
}

# Connections are lost, and port 20049 is free for others.
knfsd_stop() {
	rpc.nfsd 0
}

knfsd_down() {
	knfsd_stop
	exportfs -ua
	kill $(pidof rpc.mountd rpcbind)
	wait_for 'the end of rpc.mountd and rpcbind' eval '[[ -z $(pidof rpc.mountd rpcbind) ]]'
	umount -l /proc/fs/nfsd /var/lib/nfs
}
