# SPDX-License-Identifier: BSD-3-Clause
# limit: 600
# The other guest: the kernel's NFS/RDMA client uses all forms of message of version 1: short ones,
# READs and WRITEs with chunks, a symbolic link over the inline threshold, and replies too long to
# be inline.
. "$WEIR_SOURCE/test/guest/rdma.sh"
rdma_up_over eth0 10.77.1.2
modprobe -a rpcrdma nfsv3
mkdir -p /run/m
reaches() { # PORT
	(: <"/dev/tcp/10.77.1.1/$1") 2>/dev/null
}
wait_for "the other guest's MOUNT" reaches 20048
options=vers=3,retry=0,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=20048
options+=,rsize=65536,wsize=65536
mount -t nfs -o "$options" 10.77.1.1:/scratch /run/m
dd if=/dev/urandom of=/run/data bs=64k count=8 status=none
cp /run/data /run/m/data
echo small >/run/m/small
ln -s "$(printf 'long/%.0s' {1..815})" /run/m/link
for i in {1..300}; do : >"/run/m/an-entry-with-a-rather-long-name-$i"; done
umount /run/m
mount -t nfs -o "$options" 10.77.1.1:/scratch /run/m
cmp /run/data /run/m/data
[[ $(cat /run/m/small) == small ]]
[[ $(readlink /run/m/link | wc -c) == 4076 ]]
[[ $(ls /run/m | wc -l) == 303 ]]
grep 'xprt:' /proc/self/mountstats
umount /run/m
busybox nc 10.77.1.1 7000 </dev/null
