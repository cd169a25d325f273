package program

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// AwaitListener waits until somebody listens at a TCP port of any address, without connecting to it: a server that takes one connection would take this one. It returns
// at once where that cannot be seen (proc(5)), and does not wait for longer than the program runs.
func (p *Program) AwaitListener(port string) {
	p.t.Helper()
	for end := time.Now().Add(patience); p.Running(); time.Sleep(5 * time.Millisecond) {
		if ready, visible := listening(port); ready || !visible {
			return
		}
		if time.Now().After(end) {
			p.Blame("runs, but nobody listens at port %s within %v", port, patience)
		}
	}
}

func listening(port string) (ready, visible bool) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		visible = true
		for line := range strings.Lines(string(table)) {
			ready = ready || listens(line, port)
		}
	}
	return ready, visible
}

// listens reports whether a line of /proc/net/tcp is of a socket that listens at port.
func listens(line, port string) bool {
	const listen = "0A"
	n, err := strconv.Atoi(port)
	f := strings.Fields(line)
	return err == nil && len(f) > 3 && f[3] == listen && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", n))
}
