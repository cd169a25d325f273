//go:build linux

package netns

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/test/cable"
)

// AF_XDP's program steps aside while large messages come (FI_UDP_LINK=auto), and meanwhile something happens. These tests do not run beside others, which would leave too
// little of the machine for large messages to be fast.

const autoLink = "FI_UDP_LINK=auto"

// flooded has a node of b, with this program, receive a stream of large messages from one of a.
func flooded(t *testing.T, a, b *host) (ra, rb *remote, program ebpf.ProgramID) {
	t.Helper()
	const patient = "FI_OFI_RXD_PEER_TIMEOUT=20000"
	ra, rb = xdpPair(a, b, a.v4, b.v4, []string{patient}, []string{autoLink, patient})
	if program, _ = b.program(); program == 0 {
		t.Fatal(rb.do("says"))
	}
	rb.do("recv %d 32", 1<<20)
	ra.do("stream 0 %d 8", 1<<20)
	ra.want("STREAMED 64", long)
	return ra, rb, program
}

// haltAside brings a node to a stand while its program is aside.
func (r *remote) haltAside() {
	r.t.Helper()
	var nl *netlink.Handle
	r.h.Inside(func() (err error) { nl, err = netlink.NewHandle(unix.NETLINK_ROUTE); return err })
	defer nl.Close()
	aside := func() bool {
		l, err := nl.LinkByName(cable.End)
		if err != nil {
			r.t.Fatal(err)
		}
		return l.Attrs().Xdp == nil || !l.Attrs().Xdp.Attached
	}
	tries := 0
	eventually(r.t, "the program is aside", func() bool {
		if !aside() {
			return false
		}
		r.halt()
		tries++
		if aside() {
			return true
		}
		r.resume()
		return false
	})
	r.t.Logf("the program was seen to be aside %d times", tries)
}

// flows sees that a stream goes on.
func (r *remote) flows() {
	r.t.Helper()
	r.forget()
	for range 3 { // the first may have been on its way before
		r.want("STREAMED", long)
	}
}

// arrives sees that small messages of a new node of a come to rb, and whether one goes past the kernel's stack.
func arrives(a *host, rb *remote, bypasses bool) {
	a.t.Helper()
	ra := a.start()
	ra.do("open %s %s 7001", rxdStack, a.v4)
	ra.do("insert %s:7000", rb.h.v4)
	again(a.t, ra, rb)
	_, before, _ := rb.counts()
	more := func() bool {
		ra.do("send 0 8")
		rb.want("RECEIVED 8", long)
		_, now, _ := rb.counts()
		return now > before
	}
	if bypasses {
		eventually(a.t, "a message past the kernel's stack", more)
	} else if more() {
		a.t.Error("a message came past the kernel's stack")
	}
	ra.Kill()
}

// TestXDPAsidePlugged takes the cable out while the program is aside, at either end, and puts it in again: messages go on, and the program comes back.
func TestXDPAsidePlugged(t *testing.T) {
	a, b := newHosts(t)
	ra, rb, _ := flooded(t, a, b)
	for _, h := range []*host{a, b} {
		rb.haltAside()
		h.unplug()
		rb.resume()
		rb.do("stats")
		h.plug()
		ra.flows()
	}
	ra.Kill()
	eventually(t, "the program is back", func() bool { id, _ := b.program(); return id != 0 })
	arrives(a, rb, true)
}

// TestXDPAsideRemoved removes the interface while the program is aside. The endpoint goes on through its socket when there is another one.
func TestXDPAsideRemoved(t *testing.T) {
	for _, halted := range []bool{true, false} {
		t.Run(fmt.Sprint("halted ", halted), func(t *testing.T) {
			a, b := newHosts(t)
			ra, rb, _ := flooded(t, a, b)
			rb.haltAside()
			b.IP("link", "del", cable.End)
			if !halted {
				rb.resume()
				rb.do("stats")
			}
			b.Lay(a.Host, nil, nil)
			if halted {
				rb.resume()
			}
			ra.flows()
			eventually(t, "word that the interface was removed", func() bool { return strings.Contains(rb.do("says"), "no AF_XDP: the interface was removed") })
			ra.Kill()
			if id, _ := b.program(); id != 0 {
				t.Errorf("program %d is attached to the other interface", id)
			}
			arrives(a, rb, false)
		})
	}
}

// TestXDPAsideKilled kills a node while its program is aside and large messages come: nothing of it stays, and the next node has the interface.
func TestXDPAsideKilled(t *testing.T) {
	a, b := newHosts(t)
	ra, rb, program := flooded(t, a, b)
	rb.haltAside()
	apart := b.MarkApart(rb.Cmd.Process.Pid)
	rb.killProgram(program)
	eventually(t, "the namespace is gone", func() bool { return !apart() })
	oneOf(t, ra.want("ERR stream", peerTimeout+slack), "FI_ETIMEDOUT", "FI_ECONNREFUSED")
	ra.Kill()
	for range 3 { // at any moment
		ra, rb, program = flooded(t, a, b)
		rb.killProgram(program)
		ra.Kill()
	}
}
