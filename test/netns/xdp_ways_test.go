//go:build linux

package netns

import (
	"fmt"
	"strings"
	"testing"

	"gofabric/test/veth"
)

// TestXDPWays checks that the reports about AF_XDP agree: before an endpoint is opened, by the endpoint itself, and
// beside it. They also say which path single datagrams take. The values xdp and auto of FI_UDP_LINK report the same.
func TestXDPWays(t *testing.T) {
	t.Parallel()
	const (
		autoLink = "FI_UDP_LINK=auto"
		packet   = "; single datagrams are sent through a packet socket"
	)
	for _, tt := range []struct {
		name   string
		env    []string
		queues bool // two of them
		mode   string
		want   string
	}{
		{"xdp", []string{xdpLink}, false, "generic", packet},
		{"auto", []string{autoLink}, false, "generic", packet},
		{"auto, driver mode", []string{autoLink, xdpDriver}, false, "driver", packet},
		{"auto, switched off", []string{autoLink, "FI_UDP_XDP_SINGLE=0"}, false, "generic",
			"; single datagrams are sent through AF_XDP's rings: switched off (FI_UDP_XDP_SINGLE)"},
		{"auto, two queues", []string{autoLink}, true, "generic",
			"; single datagrams are sent through AF_XDP's rings: the interface has 2 queues"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			if tt.queues {
				two := []string{"numtxqueues", "2", "numrxqueues", "2"}
				b.Replace(a.Host, two, two)
				// The kernel (linkwatch) sets the state asynchronously.
				eventually(t, "the new interface is running",
					func() bool { return strings.Contains(b.IP("link", "show", veth.End), "state UP") })
			}
			rb := b.start(tt.env...)
			want := "udp FI_EP_DGRAM eth9: AF_XDP is used, in " + tt.mode + " mode" + tt.want
			before := rb.do("ways %s %s", rxdStack, b.v4)
			rb.do("open %s %s 7000", rxdStack, b.v4)
			beside := rb.do("ways %s %s", rxdStack, b.v4)
			for _, ways := range []string{before, beside} { // they end with the measured cost for other traffic
				said, cost, _ := strings.Cut(ways,
					"; while AF_XDP is used, the XDP program also sees all other traffic that the interface receives, and the ")
				if said != want || !strings.HasPrefix(cost, map[string]string{"generic": "kernel copies", "driver": "driver copies"}[tt.mode]) || !strings.Contains(cost, "tcp over veth: 1.") {
					t.Errorf("before: %s\nbeside: %s\nwant:   %s; ...", before, beside, want)
				}
			}
			if why := rb.do("why %s %s", rxdStack, b.v4); why != "" {
				t.Error(why)
			}
			if says := rb.do("says"); !strings.Contains(says, "AF_XDP on eth9, "+tt.mode+" mode") ||
				!strings.Contains(says, " received"+tt.want+")") {
				t.Errorf("%s; want %s", says, tt.want)
			}
			if rb.do("link sockets"); strings.Contains(rb.do("says"), "packet socket") {
				t.Error(rb.do("says"))
			}
		})
	}
	t.Run("sockets", func(t *testing.T) {
		t.Parallel()
		_, b := newHosts(t)
		if ways := b.start().do("ways %s %s", rxdStack, b.v4); ways != "" {
			t.Error(ways)
		}
	})
}

// TestXDPInserted checks that an inserted address is prepared at once: the kernel resolves the neighbour although
// nothing is sent.
func TestXDPInserted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stack string
		later bool // AF_XDP is selected after the address was inserted
	}{{rxdStack, false}, {rxdStack, true}, {"dgram", false}, {"dgram", true}} {
		t.Run(fmt.Sprintf("%s/later=%v", c.stack, c.later), func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			ra, rb := a.start(), b.start("FI_UDP_LINK="+map[bool]string{false: "xdp", true: "sockets"}[c.later])
			name := ra.do("open %s %s 7000", c.stack, a.v4)
			rb.do("open %s %s 7000", c.stack, b.v4)
			if has := b.IP("neigh", "show", a.v4); strings.Contains(has, "lladdr") {
				t.Fatalf("the neighbour is known already: %s", has)
			}
			rb.do("insert %s", name)
			if c.later {
				rb.do("link xdp")
			}
			eventually(t, "the neighbour",
				func() bool { return strings.Contains(b.IP("neigh", "show", a.v4), "lladdr") })
			if c.stack != rxdStack {
				return // a DGRAM endpoint counts no datagrams, and has no protocol that would send any
			}
			if sent, _, _ := rb.counts(); sent > 0 {
				t.Errorf("%d datagrams were sent", sent)
			}
		})
	}
}
