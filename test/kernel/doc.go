// Package kernel runs tests on another Linux kernel, in a virtual machine: tests that need what the installed kernel
// may lack (VLAN devices), and tests of AF_XDP on an older kernel.
//
// It needs QEMU, which interprets all instructions (KVM is not reliable inside virtual machines), and a kernel.
// GOFABRIC_KERNEL names its folder, which has the layout of Debian's packages (boot/vmlinuz-*, lib/modules/*). The
// default is the kernel in /boot.
//
//	apt install qemu-system-x86
//	apt-get download linux-image-6.1.0-56-cloud-amd64 && dpkg-deb -x linux-image-*.deb /tmp/kernel
//	GOFABRIC_MANY=1 GOFABRIC_KERNEL=/tmp/kernel go test -v ./test/kernel
//
// GOFABRIC_KERNEL_ONLY="test/netns=XDPVLAN" runs only these tests of this package.
//
// The machine has no disk and no network. An archive in its memory holds the tests as programs, the tools that they
// call, and package guest, which runs them.
package kernel
