//go:build linux

package netns

// AF_XDP when the process is killed, when it is refused, when it has too little room, and its effect on the traffic of
// other programs.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"gofabric/internal/xdp"
)

// program returns the number of the XDP program on the interface, and its mode as ip(8) names it, 0 if there is none.
func (h *host) program() (id ebpf.ProgramID, mode string) {
	h.t.Helper()
	var links []struct {
		XDP struct {
			Mode int
			Prog struct{ ID uint32 }
		}
	}
	if err := json.Unmarshal([]byte(h.IP("-j", "link", "show", "eth9")), &links); err != nil || len(links) != 1 {
		h.t.Fatalf("%s: ip -j link show eth9: %v, %+v", h.Name, err, links)
	}
	x := links[0].XDP
	// The modes are XDP_ATTACHED_DRV and XDP_ATTACHED_SKB.
	return ebpf.ProgramID(x.Prog.ID), map[int]string{1: "driver", 2: "generic"}[x.Mode]
}

// maps returns the numbers of the maps that a program uses.
func maps(t *testing.T, id ebpf.ProgramID) []ebpf.MapID {
	t.Helper()
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	ids, ok := info.MapIDs()
	if !ok || len(ids) == 0 {
		t.Fatalf("program %d (%s) has no maps", id, info.Name)
	}
	return ids
}

// xdpSockets returns how many AF_XDP sockets the host has. Each keeps its umem.
func (h *host) xdpSockets() int {
	h.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", h.Name, "cat", "/proc/net/protocols").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^XDP\s+\d+\s+(\d+)`).FindSubmatch(out)
	if m == nil {
		h.t.Fatalf("no XDP in /proc/net/protocols:\n%s", out)
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// eventually checks a condition until it is true. The kernel sends no event when the last resource of a killed process
// is gone.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); runtime.Gosched() {
		if time.Since(began) > long {
			t.Fatalf("%s: not within %v", what, long)
		}
	}
}

// killClean kills the host's only node with AF_XDP, and checks that none of its resources stays.
func (r *remote) killClean() {
	r.t.Helper()
	id, _ := r.h.program()
	if id == 0 || r.h.xdpSockets() == 0 {
		r.t.Fatalf("%s has no AF_XDP: program %d, %d sockets", r.h.Name, id, r.h.xdpSockets())
	}
	r.killProgram(id)
}

// killProgram kills the host's only node with AF_XDP, and checks that none of its resources stays. Its program may not
// be attached at that time.
func (r *remote) killProgram(id ebpf.ProgramID) {
	r.t.Helper()
	used := maps(r.t, id)
	r.Kill()
	eventually(r.t, "nothing is attached", func() bool { n, _ := r.h.program(); return n == 0 })
	eventually(r.t, "the program is gone", func() bool {
		p, err := ebpf.NewProgramFromID(id)
		p.Close()
		return errors.Is(err, os.ErrNotExist)
	})
	for _, m := range used {
		eventually(r.t, "the map is gone", func() bool {
			m, err := ebpf.NewMapFromID(m)
			m.Close()
			return errors.Is(err, os.ErrNotExist)
		})
	}
	eventually(r.t, "the sockets are gone, and their memory", func() bool { return r.h.xdpSockets() == 0 })
}

// TestXDPKilled kills a node with AF_XDP under load while other programs use the link. None of its resources stays,
// the other programs are not affected, and a new node can use AF_XDP.
func TestXDPKilled(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	o := startOthers(t, a, b)
	ra, rb := xdpPair(a, b, a.v4, b.v4, nil, []string{xdpLink})
	for _, r := range []*remote{ra, rb} {
		r.do("check %d %d", 1000, 1<<30)
	}
	for _, r := range []*remote{ra, rb} {
		r.do("bulk 0 %d %d", 1000, 1<<30)
	}
	for _, r := range []*remote{ra, rb} {
		r.want("GOOD 4096", long)
	}
	o.goOn()
	if s, n, _ := rb.counts(); s == 0 || n == 0 {
		t.Errorf("%d sent, %d received past the kernel's stack", s, n)
	}
	rb.killClean()
	o.goOn()
	oneOf(t, ra.want("ERR bulk", peerTimeout+slack), "FI_ETIMEDOUT", "FI_ECONNREFUSED")

	rb = b.start(xdpLink) // the peer that lost its partner connects to the new node
	rb.do("open %s %s 7000", rxdStack, b.v4)
	rb.do("recv 1000 16")
	if id, _ := b.program(); id == 0 {
		t.Errorf("the new node has no AF_XDP: %s", rb.do("why %s %s", rxdStack, b.v4))
	}
	again(t, ra, rb)
	rb.killClean()
	ra.Kill()

	ra, rb = xdpPair(a, b, a.v4, b.v4, []string{xdpLink}, []string{xdpLink})
	rb.bypassed(ra)
	o.goOn()
	ra.killClean()
	rb.killClean()
	o.goOn()
	o.end(4)
}

// bare starts a program without privileges, as another user.
var bare = []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
	"--inh-caps=-all", "--bounding-set=-all"}

// locked starts a program that may lock so many bytes of memory.
func locked(bytes int) []string {
	return []string{"prlimit", fmt.Sprintf("--memlock=%d:%[1]d", bytes), "setpriv",
		"--inh-caps=-ipc_lock", "--bounding-set=-ipc_lock"}
}

// attachOther attaches a program that passes all packets to a host's end of the link, until the test ends.
func attachOther(h *host) {
	h.t.Helper()
	const xdpPass = 2 // enum xdp_action
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "somebodys", Type: ebpf.XDP,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { prog.Close() })
	h.Inside(func() error {
		ifc, err := net.InterfaceByName("eth9")
		if err != nil {
			return err
		}
		l, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: ifc.Index, Flags: link.XDPDriverMode})
		if err == nil {
			h.t.Cleanup(func() { l.Close() })
		}
		return err
	})
}

// openOther opens an endpoint with AF_XDP in another process.
func openOther(h *host) {
	h.t.Helper()
	r := h.start(xdpLink)
	r.do("open %s %s 7009", rxdStack, h.v4)
	if why := r.do("why %s %s", rxdStack, h.v4); h.xdpSockets() == 0 || strings.Contains(why, "sockets") {
		h.t.Errorf("the first process has %d AF_XDP sockets: %s", h.xdpSockets(), why)
	}
}

// TestXDPRefused checks that messages are exchanged through sockets where AF_XDP is not available, and that the
// interface and the reason are reported.
func TestXDPRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		under   []string
		prepare func(b *host)
		env     string
		cause   string
	}{
		{"no privilege", bare, nil, "", xdp.NoRaw.Error()},
		{"no programs", []string{"setpriv", "--inh-caps=-all", "--bounding-set=-all,+net_raw"}, nil, "",
			xdp.NoBPF.Error()},
		{"no locked memory", locked(4096), nil, "", xdp.NoMemlock.Error()},
		{"too little locked memory", locked(8 << 20), nil, "", xdp.NoMemlock.Error()},
		{"another program", nil, attachOther, "", xdp.OtherProgram.Error() + ` ("somebodys"`},
		{"another process", nil, openOther, "", xdp.OtherOwner.Error()},
		{"no AF_XDP in the kernel", nil, nil, noXDPVar + "=1", xdp.OldKernel.Error()},
		{"too few queues", nil, nil, "FI_UDP_XDP_QUEUES=2", xdp.QueueCount.Error() + " (2 queues were requested, the interface has 1)"},
	} {
		for _, how := range []string{"xdp", "auto"} {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				a, b := newHosts(t)
				if tt.prepare != nil {
					tt.prepare(b)
				}
				refused(t, a.start(), b.startUnder(tt.under, "FI_UDP_LINK="+how, tt.env), a.v4, b.v4, "eth9", tt.cause)
			})
		}
	}
	t.Run("lo", func(t *testing.T) {
		t.Parallel()
		_, b := newHosts(t)
		refused(t, b.start(), b.start(xdpLink), "127.0.0.2", "127.0.0.1", "lo", "the interface is lo")
	})
}

// refused exchanges messages with rb, which requested AF_XDP and did not get it for a reason.
func refused(t *testing.T, ra, rb *remote, ipA, ipB, ifc, cause string) {
	t.Helper()
	nameA, nameB := ra.do("open %s %s 7001", rxdStack, ipA), rb.do("open %s %s 7000", rxdStack, ipB)
	ra.do("insert %s", nameB)
	rb.do("insert %s", nameA)
	for _, size := range []int{8, 1000, 100_000} {
		intact(ra, rb, size, 50)
	}
	if s, n, _ := rb.counts(); s+n > 0 {
		t.Errorf("%d sent, %d received past the kernel's stack", s, n)
	}
	why := rb.do("why %s %s", rxdStack, ipB)
	t.Log(why)
	if strings.Contains(why, " | ") ||
		!strings.Contains(why, " "+ifc+": sockets are used: ") || !strings.Contains(why, cause) {
		t.Errorf("why: %q; want one reason, with %s and %q", why, ifc, cause)
	}
}

// TestXDPGeneric checks the mode of the program. Where the driver runs no program, the kernel's stack does, and an
// endpoint that requires driver mode gets sockets. A veth interface refuses if its peer transmits on more queues than
// it receives on (drivers/net/veth.c, veth_xdp_set).
func TestXDPGeneric(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	a.IP("link", "del", "eth9")
	a.IP("link", "add", "eth9", "numtxqueues", "2", "numrxqueues", "2", "type", "veth",
		"peer", "name", "eth9", "netns", b.Name, "numtxqueues", "1", "numrxqueues", "1")
	for _, h := range []*host{a, b} {
		h.IP("link", "set", "eth9", "up")
		h.Address("eth9", h.v4+"/24", h.v6+"/64")
	}
	for _, ip := range [][2]string{{a.v4, b.v4}, {a.v6, b.v6}} {
		ra, rb := xdpPair(a, b, ip[0], ip[1], []string{xdpLink, xdpDriver}, []string{xdpLink})
		if why := rb.do("why %s %s", rxdStack, ip[1]); why != "" {
			t.Error(why)
		}
		for i, h := range []*host{a, b} {
			if _, mode := h.program(); mode != []string{"driver", "generic"}[i] {
				t.Errorf("%s: the program runs in mode %q", h.Name, mode)
			}
		}
		for _, size := range []int{8, 1400, 100_000} {
			intact(ra, rb, size, 200)
		}
		rb.bypassed(ra)
		ra.killClean()
		rb.killClean()
	}
	rb := b.start(xdpLink, xdpDriver)
	if why := rb.do("why %s %s", rxdStack, b.v4); why != "" {
		t.Log(why)
	}
	rb.do("open %s %s 7000", rxdStack, b.v4)
	if _, mode := b.program(); mode != "" {
		t.Errorf("%s: the program runs in mode %q", b.Name, mode)
	}
}

// overflows returns how many datagrams found no room at a node, malformed how many were not of its protocol.
func (r *remote) overflows() int { return r.count("Overflows") }
func (r *remote) malformed() int { return r.count("Malformed") }

// count returns one of a node's counts.
func (r *remote) count(name string) int {
	r.t.Helper()
	m := regexp.MustCompile(name + `:(\d+)`).FindStringSubmatch(r.do("stats"))
	if m == nil {
		r.t.Fatalf("the node does not count %s", name)
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// dropped returns how many packets the interface received but the XDP program's target did not accept
// (veth_get_stats64: xdp_drops).
func (h *host) dropped() int {
	h.t.Helper()
	var links []struct {
		Stats64 struct{ RX struct{ Dropped int } }
	}
	if err := json.Unmarshal([]byte(h.IP("-j", "-s", "link", "show", "eth9")), &links); err != nil || len(links) != 1 {
		h.t.Fatalf("%s: ip -j -s link show eth9: %v, %+v", h.Name, err, links)
	}
	return links[0].Stats64.RX.Dropped
}

// halt stops a node's process (SIGSTOP) and waits until it is stopped.
func (r *remote) halt() {
	r.t.Helper()
	pid := r.Cmd.Process.Pid
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		r.t.Fatal(err)
	}
	var s unix.WaitStatus
	if _, err := unix.Wait4(pid, &s, unix.WUNTRACED, nil); err != nil || !s.Stopped() {
		r.t.Fatalf("%s: %v, %x", r.h.Name, err, s)
	}
}

// resume continues the process.
func (r *remote) resume() {
	r.t.Helper()
	if err := unix.Kill(r.Cmd.Process.Pid, unix.SIGCONT); err != nil {
		r.t.Fatal(err)
	}
}

// TestXDPExhausted stops a node in the middle of a run, until it has no chunks to receive into. Packets without a
// chunk are counted, and rxd loses nothing.
func TestXDPExhausted(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{xdpDriver, xdpGeneric} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			exhaust(t, mode)
		})
	}
}

func exhaust(t *testing.T, mode string) {
	const (
		count  = 2000
		chunks = 4096 // of a queue (internal/xdp, Config.RxFrames)
		flood  = 4 * chunks
	)
	a, b := newHosts(t)
	env := []string{xdpLink, mode, "FI_OFI_RXD_PEER_TIMEOUT=20000"}
	ra, rb := xdpPair(a, b, a.v4, b.v4, env, env)
	for _, r := range []*remote{ra, rb} {
		r.do("check %d %d", 10_000, count)
	}
	for _, r := range []*remote{ra, rb} {
		r.do("bulk 0 %d %d", 10_000, count)
	}
	rb.want("GOOD 64", long)
	if n := rb.overflows(); n != 0 {
		t.Errorf("%d datagrams found no room before", n)
	}
	var c net.Conn
	a.Inside(func() (err error) { c, err = net.Dial("udp4", b.v4+":7000"); return err })
	defer c.Close()
	rb.halt()
	for range flood { // from an unknown source
		if _, err := c.Write(make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
	}
	rb.resume()
	for _, r := range []*remote{ra, rb} {
		r.want(fmt.Sprintf("CHECKED %d", count), long)
		r.want("BULK", long)
	}
	n, useless := rb.overflows(), rb.malformed()
	t.Logf("%d datagrams of %d found no room", n, flood)
	if ours := n + useless - flood; n < flood/4 || ours < 0 || ours > chunks {
		t.Errorf("%d datagrams found no room, %d of the unknown source's found room: of %d, for %d chunks", n,
			useless, flood, chunks)
	}
	if dropped := b.dropped(); mode == xdpDriver && n != dropped { // in generic mode the interface does not count
		t.Errorf("%d datagrams found no room, the interface counted %d", n, dropped)
	}
	intact(ra, rb, 1000, 100)
	rb.bypassed(ra)
	if m := rb.overflows(); m != n {
		t.Errorf("%d more datagrams found no room although there was some", m-n)
	}
}

// TestXDPContended checks that rxd loses nothing while other programs use all processors.
func TestXDPContended(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	for range runtime.NumCPU() {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			busy.Process.Kill()
			busy.Wait()
		}()
	}
	env := []string{xdpLink, "FI_OFI_RXD_PEER_TIMEOUT=20000"}
	ra, rb := xdpPair(a, b, a.v4, b.v4, env, env)
	for _, size := range []int{8, 1000, 1 << 20} {
		intact(ra, rb, size, 100)
	}
	ra.bypassed(rb)
	rb.bypassed(ra)
	t.Logf("%d and %d datagrams found no room", ra.overflows(), rb.overflows())
}
