// Package tcpport finds free TCP ports for servers that are programs of their own, and reports when those listen.
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

// low and high are below the range from which systems choose ports for outgoing connections. So no such connection
// takes a port between its choice and the server's start.
const low, high = 20000, 30000

// next counts the ports that this process has tried. It starts at a random port, because other processes look for
// ports as well.
var next atomic.Uint32

func init() { next.Store(rand.Uint32N(high - low)) }

// Free returns n ports that were free a moment ago, at the address host, or at any address if host is empty. A port
// is returned again only after all others were tried, because its server may not have started yet.
func Free(host string, n int) (ports []int, err error) {
	var errs []error
	for len(ports) < n {
		port := low + int(next.Add(1)%(high-low))
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			defer l.Close() // after all were chosen, so that they differ
			ports = append(ports, port)
		} else if errs = append(errs, err); len(errs) == 20 {
			return nil, errors.Join(errs...)
		}
	}
	return ports, nil
}

// Listening reports whether a socket listens at a port of any address, in the network namespace of the calling thread.
// It does not connect, which would disturb a server that accepts one connection. visible is false if the system does
// not show this (proc(5), /proc/net/tcp).
func Listening(port int) (ready, visible bool) {
	for _, name := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
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

// listens reports whether a line of /proc/net/tcp belongs to a socket that listens at port.
func listens(line string, port int) bool {
	const listen = "0A"
	f := strings.Fields(line)
	return len(f) > 3 && f[3] == listen && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port))
}
