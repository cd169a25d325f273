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
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"gofabric/internal/mono"
	"gofabric/test/cable"
)

// nodeVar makes the test binary a process in a namespace that has eth9 and sends back what comes to a port: the namespace, the address and port. With nodeAside after
// that it has its program step aside, and stays so.
const (
	nodeVar   = "GOFABRIC_XDP_NODE"
	nodeAside = "aside"
)

func nodeMain() {
	runtime.LockOSThread()
	var ns, at, how string
	fmt.Sscan(os.Getenv(nodeVar), &ns, &at, &how)
	h := cable.Host{T: &testing.B{}, Name: ns}
	h.Enter()
	c := Config{}
	if how == nodeAside {
		c.Mode = Generic
	}
	i, err := Open("eth9", c)
	if err != nil {
		fmt.Println("failed", err)
		return
	}
	p, err := i.Bind(netip.MustParseAddrPort(at))
	if err != nil {
		fmt.Println("failed", err)
		return
	}
	numbers := strings.Join(i.prog.numbers(), " ")
	if how == nodeAside {
		i.stepForever(func() { fmt.Println("ready", numbers, i.prog.anchorNumber()) })
	}
	fmt.Println("ready", numbers)
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

// stepForever has the program step aside in the quick way, calls then, and tells of large messages from then on.
func (i *Interface) stepForever(then func()) {
	i.PrepareSteps()
	for m := &i.mover; ; runtime.Gosched() {
		m.mu.Lock()
		m.a.best, m.a.until = true, mono.Never
		quick := m.a.quick
		m.mu.Unlock()
		if quick {
			break
		}
	}
	for tick := time.NewTicker(asideQuiet / 20); ; <-tick.C {
		i.Came(mono.Now(), 8<<20, 8, 0)
		if then != nil && gone(i) {
			then()
			then = nil
		}
	}
}

// turn makes an IPv4 frame go back, without a UDP checksum: the one it came with may be unfinished.
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

// numbers is those of the program's objects in the kernel.
func (p *program) numbers() []string {
	var all []string
	for _, form := range []*ebpf.Program{p.prog, p.forms.lean} {
		if form == nil {
			continue
		}
		if i, err := form.Info(); err == nil {
			id, _ := i.ID()
			all = append(all, fmt.Sprint("prog:", id))
		}
	}
	for _, m := range []*ebpf.Map{p.ports, p.xsks, p.limit, p.long, p.news} {
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

// anchorNumber is that of the last link that hold made.
func (p *program) anchorNumber() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.anchors[len(p.anchors)-1].link.Info()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint("link:", i.ID)
}

// exists reports whether the kernel has an object.
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

// node starts such a process and waits until it is ready. It gives the numbers of its objects.
func node(t *testing.T, h *place, at netip.AddrPort, how ...string) (*exec.Cmd, []string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := exec.Command(self)
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %v %s", nodeVar, h.Name, at, strings.Join(how, " ")))
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
	if err != nil || f[0] != "ready" || len(f) != 8+2*len(how) {
		t.Fatalf("%q, %v", line, err)
	}
	for k, n := range f[1:] {
		if asideLink := len(how) > 0 && k == 7; exists(n) == asideLink {
			t.Fatalf("there is, or is not, a %s", n)
		}
	}
	return c, f[1:]
}
