// Package kernel runs tests on another Linux kernel, in a virtual machine: those of things that the kernel at hand may lack (VLAN devices), and of AF_XDP on an
// older kernel than that of most machines the tests run on.
//
// It takes QEMU, which interprets all instructions (KVM inside virtual machines is not to be relied on), and a kernel: that of the folder in GOFABRIC_KERNEL, which is laid out as Debian's packages are
// (boot/vmlinuz-*, lib/modules/*), or else the one in /boot:
//
//	apt install qemu-system-x86
//	apt-get download linux-image-6.1.0-56-cloud-amd64 && dpkg-deb -x linux-image-*.deb /tmp/kernel
//	GOFABRIC_MANY=1 GOFABRIC_KERNEL=/tmp/kernel go test -v ./test/kernel
//
// GOFABRIC_KERNEL_ONLY="test/netns=XDPVLAN" runs these tests of this package alone.
//
// The machine has no disk and no network: an archive in its memory holds the tests as programs, the tools that they call, and package guest, which runs them.
package kernel
