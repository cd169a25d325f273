package netx

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// PortUser returns the user who owns the UDP sockets bound to an address and port, in the network namespace of the
// calling thread (proc_net(5), udp). ok is false if there are none, if they belong to several users, or if the
// system does not report it.
func PortUser(at netip.AddrPort) (uid int, ok bool) {
	name, want := "udp", hexAddr(at)
	if at.Addr().Is6() {
		name = "udp6"
	}
	f, err := os.Open("/proc/thread-self/net/" + name)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		// The columns: sl local_address rem_address st queues tr:tm->when retrnsmt uid timeout inode ...
		fields := strings.Fields(s.Text())
		if len(fields) < 8 || fields[1] != want {
			continue
		}
		n, err := strconv.Atoi(fields[7])
		if err != nil || ok && n != uid {
			return 0, false
		}
		uid, ok = n, true
	}
	return uid, ok
}

// hexAddr returns an address as in /proc/net/udp: 32-bit words in the processor's byte order, and the port.
func hexAddr(at netip.AddrPort) string {
	var b strings.Builder
	ip := at.Addr().AsSlice()
	for len(ip) >= 4 {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(ip))
		ip = ip[4:]
	}
	fmt.Fprintf(&b, ":%04X", at.Port())
	return b.String()
}
