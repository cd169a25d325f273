// Package tcpport finds TCP ports for servers that are programs of their own, and tells when these listen.
package tcpport

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// low and high lie below the range from which systems take ports for outgoing connections, so that none of these takes a port between its choice and the
// server's start.
const low, high = 20000, 30000

// next counts the ports that this process has looked at. It begins anywhere: other processes look for ports as well.
var next atomic.Uint32

func init() { next.Store(rand.Uint32N(high - low)) }

// Free returns n ports at which nobody listened a moment ago, at the address host, or at any if it is empty. A port comes again only when all others were looked at: its server may not have started.
func Free(host string, n int) (ports []int, err error) {
	var errs []error
	for len(ports) < n {
		port := low + int(next.Add(1)%(high-low))
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			defer l.Close() // when all are chosen, so that they differ
			ports = append(ports, port)
		} else if errs = append(errs, err); len(errs) == 20 {
			return nil, errors.Join(errs...)
		}
	}
	return ports, nil
}

// Listening reports whether somebody listens at a port of any address, without connecting to it, which would disturb a server that takes one connection. visible is false
// where that cannot be seen (proc(5), /proc/net/tcp).
func Listening(port int) (ready, visible bool) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		visible = true
		for s := bufio.NewScanner(f); s.Scan() && !ready; {
			ready = listens(s.Text(), port)
		}
		f.Close()
	}
	return ready, visible
}

// listens reports whether a line of /proc/net/tcp is of a socket that listens at port.
func listens(line string, port int) bool {
	const listen = "0A"
	f := strings.Fields(line)
	return len(f) > 3 && f[3] == listen && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port))
}
