package trust

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"gofabric/internal/netx"
)

// overflowUser is the number of all users that have none in this user namespace (user_namespaces(7); 65534 unless kernel.overflowuid says otherwise).
var overflowUser = sync.OnceValue(func() int {
	b, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if n, bad := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && bad == nil {
		return n
	}
	return 65534
})

// Same reports whether the process at the other end of a connected local socket has this process' user. If not, it has counted and logged the refusal.
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

// User reports whether uid, as this user namespace numbers users, is certainly this process' user.
func User(uid int) bool { return uid == os.Geteuid() && uid != overflowUser() }
