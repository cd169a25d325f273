//go:build linux

package netns

// When a program is attached: for endpoints that use AF_XDP, and for no other reason, because it slows down all other
// traffic of the interface.

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"gofabric"
	"gofabric/core"
)

// doObject executes commands that open and close objects one by one.
func (n *node) doObject(cmd string, args []string) (string, error) {
	var err error
	switch cmd {
	case "domain": // provider, address: a fabric and a domain, but no endpoint
		kind := core.EPTypeRDM
		if args[0] == "udp" {
			kind = core.EPTypeDgram
		}
		list, _, err := gofabric.GetInfo(core.Query{Node: args[1], Flags: core.InfoSource, Hints: hints(args[0], kind)})
		if err != nil {
			return "", err
		}
		n.info = list[0]
		if n.fabric, err = gofabric.OpenFabric(n.info); err == nil {
			n.domain, err = n.fabric.OpenDomain(n.info)
		}
		return "", err
	case "endpoint": // one more in the domain
		n.ep, err = n.domain.OpenEndpoint(n.info)
		n.eps = append(n.eps, n.ep)
		return fmt.Sprint(n.ep), err
	case "close": // the oldest of these endpoints
		err = n.eps[0].Close()
		n.eps = n.eps[1:]
		return "", err
	case "end": // of domain and fabric
		return "", errors.Join(n.domain.Close(), n.fabric.Close())
	}
	return "", fmt.Errorf("no such command: %s", cmd)
}

// wantProgram fails the test unless a program is attached, or none if attached is false.
func (h *host) wantProgram(attached bool, after string) {
	h.t.Helper()
	if id, mode := h.program(); (id != 0) != attached {
		h.t.Errorf("%s: program %d (%s) is attached; want one: %v", after, id, mode, attached)
	}
}

// TestXDPAttachesOnlyOnRequest requests AF_XDP and checks that discovery, ofi info, endpoints of tcp, and a domain of
// udp without an endpoint attach nothing.
func TestXDPAttachesOnlyOnRequest(t *testing.T) {
	t.Parallel()
	ofi := ownTools(t)
	for _, link := range []string{"FI_UDP_LINK=xdp", "FI_UDP_LINK=auto"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			for _, args := range []string{"info", "info --why", "info -p udp --why", "info -p udp;ofi_rxd -v", "env"} {
				cmd := exec.Command("ip",
					append([]string{"netns", "exec", a.Name, "env", link, ofi}, strings.Fields(args)...)...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("ofi %s: %v: %s", args, err, out)
				}
				a.wantProgram(false, "ofi "+args)
			}
			found := a.start(link)
			for _, prov := range []string{"udp;ofi_rxd", "tcp"} {
				found.do("infos %s", prov)
			}
			found.do("why %s %s", rxdStack, a.v4)
			found.do("ways %s %s", rxdStack, a.v4)
			a.wantProgram(false, "GetInfo and Explain")
			for i, prov := range []string{"rdm", "tcp;ofi_rxm"} {
				ra, rb := a.start(link), b.start(link)
				nameA, nameB := ra.do("open %s %s %d", prov, a.v4, 7000+i), rb.do("open %s %s %d", prov, b.v4, 7000+i)
				ra.do("insert %s", nameB)
				rb.do("insert %s", nameA)
				exchange(ra, rb)
				a.wantProgram(false, "messages over "+prov)
				b.wantProgram(false, "messages over "+prov)
			}
			ra, rb := a.start(link), b.start(link)
			ra.do("open msg %s 0", a.v4)
			rb.do("open msg %s 7009", b.v4)
			ra.do("connect %s", rb.do("listen"))
			ra.want("CONNECTED", long)
			rb.want("CONNECTED", long)
			exchange(ra, rb)
			a.wantProgram(false, "a connection of tcp")
			b.wantProgram(false, "a connection of tcp")
			for _, prov := range []string{"udp", "udp;ofi_rxd"} {
				r := a.start(link)
				r.do("domain %s %s", prov, a.v4)
				a.wantProgram(false, "a domain of "+prov)
				r.do("end")
			}
		})
	}
}

// TestXDPAttachesWhileNeeded checks that the program is attached with the first endpoint that uses AF_XDP and is
// detached with the last one, though domain and fabric stay open. It is also detached when the process ends in any
// way.
func TestXDPAttachesWhileNeeded(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"FI_UDP_LINK=xdp", "FI_UDP_LINK=auto"} {
		for _, prov := range []string{"udp", "udp;ofi_rxd"} {
			t.Run(link+" "+prov, func(t *testing.T) {
				t.Parallel()
				a, _ := newHosts(t)
				r := a.start(link)
				r.do("domain %s %s", prov, a.v4)
				for round := range 2 {
					a.wantProgram(false, fmt.Sprintf("round %d, a domain", round))
					r.do("endpoint")
					a.wantProgram(true, "an endpoint")
					r.do("endpoint")
					r.do("close")
					a.wantProgram(true, "one of two endpoints closed")
					r.do("close")
				}
				a.wantProgram(false, "the last endpoint closed")
				r.do("endpoint")
				a.wantProgram(true, "an endpoint again")
				r.Kill()
				eventually(t, "the program is detached with its process",
					func() bool { id, _ := a.program(); return id == 0 })
			})
		}
	}
}
