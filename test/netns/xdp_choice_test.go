//go:build linux

package netns

import (
	"fmt"
	"strings"
	"testing"

	"gofabric/internal/xdp"
)

// TestXDPByEndpoint switches one endpoint to AF_XDP and back to sockets in the middle of a run. rxd loses nothing.
func TestXDPByEndpoint(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb := xdpPair(a, b, a.v4, b.v4, nil, nil)
	const rounds = 5
	for i, choice := range strings.Fields(strings.Repeat("xdp sockets auto sockets ", rounds)) {
		const count = 300
		rb.do("check %d %d", 1000, count)
		ra.do("bulk 0 %d %d", 1000, count)
		rb.want("GOOD 64", long)
		want := choice
		if choice == "auto" {
			want = "xdp"
		}
		for _, r := range []*remote{ra, rb}[:1+i%2] {
			if got := r.do("link %s", choice); got != want {
				t.Fatalf("%s was selected, but %s is in use", choice, got)
			}
		}
		rb.want(fmt.Sprintf("CHECKED %d", count), long)
		ra.want("BULK", long)
		ra.forget()
		rb.forget()
		if want == "xdp" {
			ra.bypassed(rb)
			continue
		}
		ra.do("link sockets")
		s, n, _ := ra.counts()
		intact(ra, rb, 8, 50)
		if s2, n2, _ := ra.counts(); s2 != s || n2 != n {
			t.Errorf("%d sent, %d received past the kernel's stack by an endpoint with sockets", s2-s, n2-n)
		}
		if id, _ := a.program(); id != 0 {
			t.Errorf("program %d is attached for no endpoint", id)
		}
	}
}

// TestXDPChosenRefused selects AF_XDP for an endpoint that cannot use it. The call returns the reason. With auto the
// endpoint continues with sockets.
func TestXDPChosenRefused(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb := a.start(), b.startUnder(bare)
	nameA, nameB := ra.do("open %s %s 7000", rxdStack, a.v4), rb.do("open %s %s 7000", rxdStack, b.v4)
	ra.do("insert %s", nameB)
	rb.do("insert %s", nameA)
	if why := rb.refused("link xdp"); !strings.Contains(why, xdp.NoRaw.Error()) || !strings.Contains(why, "eth9") {
		t.Errorf("%q", why)
	}
	if got := rb.do("link auto"); got != "sockets" {
		t.Errorf("auto took %s", got)
	}
	intact(ra, rb, 1000, 100)
}
