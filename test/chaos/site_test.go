package chaos

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
)

// A ground is the place of a fleet's processes: one host, or two with a veth pair between them.

type site struct {
	addrs   []string                              // of the hosts
	command func(host int, name string) *exec.Cmd // a command that runs in a host
	inside  func(host int, f func() error) error  // calls f in a host
	link    func(up bool)                         // nil if there is only one host
}

// oneHost is this host. Where there is more than one loopback address, the fleet has one of its own.
func oneHost() *site {
	addr := "127.0.0.1"
	if runtime.GOOS == "linux" {
		n := uint32(os.Getpid())<<4 | sites.Add(1)&15
		addr = fmt.Sprintf("127.%d.%d.%d", 129+n>>16&63, n>>8&255, n&255)
	}
	return &site{addrs: []string{addr}, command: func(_ int, name string) *exec.Cmd { return exec.Command(name) },
		inside: func(_ int, f func() error) error { return f() }}
}

// sites counts the grounds of this process.
var sites atomic.Uint32

// ports returns an address with a free port for each of the given host numbers.
func (g *site) ports(t *testing.T, hosts []int) (all []string) {
	t.Helper()
	var open []net.Listener
	defer func() {
		for _, l := range open {
			l.Close()
		}
	}()
	for i, h := range hosts {
		port := "0"
		// On an address of its own no other program gets the port while its owner is dead.
		if g.addrs[h] != "127.0.0.1" {
			port = fmt.Sprint(7100 + i)
		}
		err := g.inside(h, func() error {
			l, err := net.Listen("tcp", net.JoinHostPort(g.addrs[h], port))
			if err != nil {
				return err
			}
			open = append(open, l)
			all = append(all, l.Addr().String())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
