//go:build linux

package cable

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// MarkApart finds the one network namespace that a process holds beside the host and the one that the caller is in, and makes it known when that ends: there reports
// whether it is there. It lays a cable to it, which goes with it.
func (h *Host) MarkApart(pid int) (there func() bool) {
	h.T.Helper()
	known := map[string]bool{}
	for _, path := range []string{"/proc/thread-self/ns/net", "/proc/self/ns/net", "/run/netns/" + h.Name} {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			h.T.Fatalf("%s: %v", path, err)
		}
		known[fmt.Sprintf("net:[%d]", st.Ino)] = true
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is good
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "net:[") && !known[to] {
			h.IP("link", "add", "apart0", "type", "veth", "peer", "name", "apart1", "netns", fd)
			return func() bool { return h.Command("ip", "link", "show", "apart0").Run() == nil }
		}
	}
	h.T.Fatalf("process %d has no namespace beside its own", pid)
	return nil
}
