package bench

import (
	"net"
	"strconv"
	"testing"
)

func TestListening(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	if ready, _ := listening(port); ready {
		t.Errorf("somebody listens at %d", port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(node, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ready, visible := listening(port); visible && !ready {
		t.Errorf("nobody listens at %d", port)
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
