package bench

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// Ports for native servers.

// portLow and portHigh lie below the range from which systems take ports for outgoing connections, so that none of these takes a port between its choice
// and the server's start.
const portLow, portHigh = 20000, 30000

// freePort returns a port that nobody listened at a moment ago.
func freePort() (int, error) {
	var errs []error
	for range 20 {
		port := portLow + rand.IntN(portHigh-portLow)
		l, err := net.Listen("tcp", net.JoinHostPort(node, strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}

// listening reports whether somebody listens at a TCP port, without connecting to it, which would disturb; visible is false where that cannot be seen
// (proc(5), /proc/net/tcp).
func listening(port int) (ready, visible bool) {
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
