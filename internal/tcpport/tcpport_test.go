package tcpport

import (
	"net"
	"slices"
	"strconv"
	"testing"
)

func TestListening(t *testing.T) {
	ports, err := Free("127.0.0.1", 1)
	if err != nil {
		t.Fatal(err)
	}
	port := ports[0]
	if ready, _ := Listening(port); ready {
		t.Errorf("port %d is reported as in use", port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ready, visible := Listening(port); visible && !ready {
		t.Errorf("port %d is reported as free", port)
	}
	for line, want := range map[string]bool{
		"   0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1": true,
		"   0: 0100007F:4E20 00000000:0000 01 00000000:00000000 00:00000000 00000000     0        0 1": false,
		"   0: 0100007F:4E21 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1": false,
		"  sl  local_address rem_address   st":                                                         false,
		"":                                                                                             false,
	} {
		if listens(line, 20000) != want {
			t.Errorf("%q: got %v", line, !want)
		}
	}
}

// TestFree: the ports of all calls differ. An address at which no process of this host can listen is an error.
func TestFree(t *testing.T) {
	var ports []int
	for range 100 {
		few, err := Free("", 3)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, few...)
	}
	slices.Sort(ports)
	if n := len(slices.Compact(slices.Clone(ports))); n != 300 || ports[0] < low || ports[n-1] >= high {
		t.Errorf("%d different ones of 300, %d to %d", n, ports[0], ports[n-1])
	}
	if ports, err := Free("192.0.2.1", 1); err == nil { // no host has it (RFC 5737)
		t.Errorf("%v at an address that this machine does not have", ports)
	}
}
