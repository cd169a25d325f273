//go:build linux

package xdp

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"gofabric/test/veth"
)

// nodeVar is set to a namespace with eth9, an address and a port. It makes the test binary a process there that
// returns all packets for the port.
const nodeVar = "GOFABRIC_XDP_NODE"

func nodeMain() {
	runtime.LockOSThread()
	var ns, at string
	fmt.Sscan(os.Getenv(nodeVar), &ns, &at)
	h := veth.Host{T: &testing.B{}, Name: ns}
	h.Enter()
	i, err := Open("eth9", Config{})
	if err != nil {
		fmt.Println("failed", err)
		return
	}
	p, err := i.Bind(netip.MustParseAddrPort(at))
	if err != nil {
		fmt.Println("failed", err)
		return
	}
	fmt.Println("ready", strings.Join(i.prog.numbers(), " "))
	f, g := make([]Frame, 64), make([]Frame, 64)
	for {
		n := p.Receive(f)
		m := p.Reserve(g[:n])
		for k := range g[:m] {
			b := g[k].Data[:copy(g[k].Data, f[k].Data)]
			turn(b)
			g[k].Data = b
		}
		p.Release(f[:n])
		p.Submit(g[:m])
		p.Flush()
	}
}

// turn exchanges source and destination of an IPv4 frame. It removes the UDP checksum, which may be unfinished.
func turn(b []byte) {
	swap := func(x, y, n int) {
		for i := range n {
			b[x+i], b[y+i] = b[y+i], b[x+i]
		}
	}
	swap(0, 6, 6)
	swap(etherLen+12, etherLen+16, 4)
	swap(etherLen+ip4Len, etherLen+ip4Len+2, 2)
	b[etherLen+ip4Len+6], b[etherLen+ip4Len+7] = 0, 0
}

// numbers returns the IDs of the program's objects in the kernel.
func (p *program) numbers() []string {
	var all []string
	for _, form := range []*ebpf.Program{p.prog, p.forms.linear} {
		if form == nil {
			continue
		}
		if i, err := form.Info(); err == nil {
			id, _ := i.ID()
			all = append(all, fmt.Sprint("prog:", id))
		}
	}
	for _, m := range []*ebpf.Map{p.ports, p.xsks, p.limit, p.longSeen, p.events} {
		if i, err := m.Info(); err == nil {
			id, _ := i.ID()
			all = append(all, fmt.Sprint("map:", id))
		}
	}
	if i, err := p.link.Info(); err == nil {
		all = append(all, fmt.Sprint("link:", i.ID))
	}
	return all
}

// exists reports whether the kernel has an object with that ID.
func exists(number string) bool {
	kind, n, _ := strings.Cut(number, ":")
	var id uint32
	fmt.Sscan(n, &id)
	var c interface{ Close() error }
	var err error
	switch kind {
	case "prog":
		c, err = ebpf.NewProgramFromID(ebpf.ProgramID(id))
	case "map":
		c, err = ebpf.NewMapFromID(ebpf.MapID(id))
	case "link":
		c, err = link.NewFromID(link.ID(id))
	}
	if err == nil {
		c.Close()
	}
	return err == nil
}

// node starts such a process, waits until it is ready, and returns the IDs of its objects.
func node(t *testing.T, h *place, at netip.AddrPort) (*exec.Cmd, []string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := exec.Command(self)
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %v", nodeVar, h.Name, at))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	f := strings.Fields(line)
	if err != nil || f[0] != "ready" || len(f) != 8 {
		t.Fatalf("%q, %v", line, err)
	}
	for _, n := range f[1:] {
		if !exists(n) {
			t.Fatalf("the kernel has no object %s", n)
		}
	}
	return c, f[1:]
}
