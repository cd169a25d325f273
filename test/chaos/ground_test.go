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

// A ground is where the processes of a fleet are: one host, or two with a cable between them.

type ground struct {
	addrs   []string                              // of the hosts
	command func(host int, name string) *exec.Cmd // that runs in a host
	inside  func(host int, f func() error) error  // calls f in a host
	link    func(up bool)                         // nil: there is no cable
}

// oneHost is this host, with a loopback address of the fleet's own where there are more than one.
func oneHost() *ground {
	addr := "127.0.0.1"
	if runtime.GOOS == "linux" {
		n := uint32(os.Getpid())<<4 | grounds.Add(1)&15
		addr = fmt.Sprintf("127.%d.%d.%d", 129+n>>16&63, n>>8&255, n&255)
	}
	return &ground{addrs: []string{addr}, command: func(_ int, name string) *exec.Cmd { return exec.Command(name) }, inside: func(_ int, f func() error) error { return f() }}
}

// grounds counts them.
var grounds atomic.Uint32

// ports returns an address with a free port for each host number that is given.
func (g *ground) ports(t *testing.T, hosts []int) (all []string) {
	t.Helper()
	var open []net.Listener
	defer func() {
		for _, l := range open {
			l.Close()
		}
	}()
	for i, h := range hosts {
		port := "0"
		if g.addrs[h] != "127.0.0.1" { // the system gives no such port to whoever asks for any, while its owner is dead
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
