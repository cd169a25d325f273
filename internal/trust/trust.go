package trust

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"gofabric/internal/netx"
)

// overflowUser is the number of all users without a number in this user namespace (user_namespaces(7)). It is 65534,
// or the value of kernel.overflowuid.
var overflowUser = sync.OnceValue(func() int {
	b, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if n, bad := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && bad == nil {
		return n
	}
	return 65534
})

// Same reports whether the process at the other end of a connected local socket has the user of this process. If not,
// it counts and logs the refusal.
func Same(fd netx.FD, use Use, name string) (p netx.Peer, ok bool) {
	p, err := netx.PeerOf(fd)
	if err != nil {
		return p, false
	}
	if !User(p.UID) {
		Refuse(use, p, name, "it belongs to another user")
		return p, false
	}
	return p, true
}

// User reports whether uid, a number in this user namespace, is certainly the user of this process.
func User(uid int) bool { return uid == os.Geteuid() && uid != overflowUser() }
