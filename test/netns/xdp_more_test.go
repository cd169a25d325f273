//go:build linux

package netns

// What AF_XDP does when it is killed, refused or has too little room; and to the traffic of others.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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

// inside calls f on a thread that is in the host: sockets that it opens stay there.
func (h *host) inside(f func() error) {
	h.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		done <- func() error {
			ns, err := os.Open("/run/netns/" + h.name)
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return f()
		}()
	}()
	if err := <-done; err != nil {
		h.t.Fatalf("%s: %v", h.name, err)
	}
}

// program is the number of the XDP program on the cable's end, and the mode that it runs in as ip(8) has it; 0 if there is none.
func (h *host) program() (id ebpf.ProgramID, mode string) {
	h.t.Helper()
	var links []struct {
		XDP struct {
			Mode int
			Prog struct{ ID uint32 }
		}
	}
	if err := json.Unmarshal([]byte(h.ip("-j", "link", "show", "eth9")), &links); err != nil || len(links) != 1 {
		h.t.Fatalf("%s: ip -j link show eth9: %v, %+v", h.name, err, links)
	}
	x := links[0].XDP
	return ebpf.ProgramID(x.Prog.ID), map[int]string{1: "driver", 2: "generic"}[x.Mode] // XDP_ATTACHED_DRV, XDP_ATTACHED_SKB
}

// maps is the numbers of the maps that a program uses.
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

// xdpSockets is how many AF_XDP sockets the host has; each keeps its umem.
func (h *host) xdpSockets() int {
	h.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", h.name, "cat", "/proc/net/protocols").Output()
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

// eventually asks until something is so. The kernel tells nobody when the last of a process that was killed is gone.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); runtime.Gosched() {
		if time.Since(began) > long {
			t.Fatalf("%s: not within %v", what, long)
		}
	}
}

// killClean kills the one node of a host that has AF_XDP there, and sees that nothing of it stays.
func (r *remote) killClean() {
	r.t.Helper()
	id, _ := r.h.program()
	if id == 0 || r.h.xdpSockets() == 0 {
		r.t.Fatalf("%s has no AF_XDP: program %d, %d sockets", r.h.name, id, r.h.xdpSockets())
	}
	used := maps(r.t, id)
	r.kill()
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

// others is traffic of other programs between two hosts, checked byte for byte: TCP in both directions, and datagrams that are answered one by one.
type others struct {
	t     *testing.T
	conns []net.Conn
	udp   [2]*net.UDPConn
	stop  chan struct{}
	done  chan error
	marks chan int // one each some rounds of datagrams
	lost  int      // datagrams sent again; for reading when done
	sent  int
}

const (
	othersPort  = 7777
	othersBlock = 32 << 10
	othersAgain = 2 * time.Second
)

func startOthers(t *testing.T, a, b *host) *others {
	t.Helper()
	o := &others{t: t, stop: make(chan struct{}), done: make(chan error, 8), marks: make(chan int, 1)}
	var l net.Listener
	b.inside(func() (err error) {
		if l, err = net.Listen("tcp4", fmt.Sprintf("%s:%d", b.v4, othersPort)); err != nil {
			return err
		}
		o.udp[1], err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(b.v4), Port: othersPort})
		return err
	})
	defer l.Close()
	for range 2 {
		a.inside(func() error {
			c, err := net.Dial("tcp4", l.Addr().String())
			o.conns = append(o.conns, c)
			return err
		})
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		o.conns = append(o.conns, c)
	}
	a.inside(func() (err error) {
		o.udp[0], err = net.DialUDP("udp4", nil, o.udp[1].LocalAddr().(*net.UDPAddr))
		return err
	})
	go func() { o.done <- o.write(o.conns[0]) }()
	go func() { o.done <- o.read(o.conns[1]) }()
	go func() { o.done <- o.write(o.conns[3]) }()
	go func() { o.done <- o.read(o.conns[2]) }()
	go func() { o.done <- o.ask() }()
	go o.answer()
	return o
}

func (o *others) stopped() bool {
	select {
	case <-o.stop:
		return true
	default:
		return false
	}
}

// write sends blocks of a sequence until the end, which it shows to the reader.
func (o *others) write(c net.Conn) error {
	g := rand.NewChaCha8([32]byte{1})
	b := make([]byte, othersBlock)
	for !o.stopped() {
		g.Read(b)
		c.SetWriteDeadline(time.Now().Add(long))
		if _, err := c.Write(b); err != nil {
			return fmt.Errorf("TCP: %w", err)
		}
	}
	return c.(*net.TCPConn).CloseWrite()
}

func (o *others) read(c net.Conn) error {
	g := rand.NewChaCha8([32]byte{1})
	b, want := make([]byte, othersBlock), make([]byte, othersBlock)
	for n := 0; ; n++ {
		g.Read(want)
		c.SetReadDeadline(time.Now().Add(long))
		_, err := io.ReadFull(c, b)
		switch {
		case err == io.EOF && n > 0 && o.stopped():
			return nil
		case err != nil:
			return fmt.Errorf("TCP: block %d: %w", n, err)
		case string(b) != string(want):
			return fmt.Errorf("TCP: block %d has other bytes", n)
		}
	}
}

// ask sends datagrams and waits for the answer to each. One that is lost is sent again, and counted.
func (o *others) ask() error {
	for n := 0; !o.stopped(); n++ {
		o.sent++
		for began := time.Now(); ; o.lost++ {
			if time.Since(began) > long {
				return fmt.Errorf("UDP: no answer to datagram %d within %v", n, long)
			}
			err := o.askOnce(n)
			if err == nil {
				break
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("UDP: %w", err)
			}
		}
		if n%64 == 0 {
			select {
			case o.marks <- n:
			default:
			}
		}
	}
	return nil
}

// askOnce sends a datagram and waits for its answer. Answers to what came before are late ones to datagrams that were sent again.
func (o *others) askOnce(n int) error {
	text := func(n int) string { return fmt.Sprintf("%01000d", n) }
	got := make([]byte, 2000)
	if _, err := o.udp[0].Write([]byte(text(n))); err != nil {
		return err
	}
	o.udp[0].SetReadDeadline(time.Now().Add(othersAgain))
	for {
		k, err := o.udp[0].Read(got)
		if err != nil {
			return err
		}
		switch m, err := strconv.Atoi(string(got[:k])); {
		case err != nil || m > n || string(got[:k]) != text(m):
			return fmt.Errorf("other bytes came back: %q", got[:k])
		case m == n:
			return nil
		}
	}
}

func (o *others) answer() {
	b := make([]byte, 2000)
	for {
		n, from, err := o.udp[1].ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		o.udp[1].WriteToUDPAddrPort(b[:n], from)
	}
}

// goOn waits until datagrams have gone there and back after now.
func (o *others) goOn() {
	o.t.Helper()
	for range 3 { // the first may be older
		select {
		case <-o.marks:
		case err := <-o.done:
			o.t.Fatalf("the traffic of others broke: %v", err)
		case <-time.After(long):
			o.t.Fatal("the datagrams of others get no answers")
		}
	}
}

// end ends the traffic and reports what became of it. When a program goes, a veth interface drops what waits in its ring, whose packet it ever is
// (drivers/net/veth.c, veth_napi_del_range): of datagrams that go one by one, one at most.
func (o *others) end(programs int) {
	o.t.Helper()
	close(o.stop)
	for range 5 {
		if err := <-o.done; err != nil {
			o.t.Errorf("the traffic of others broke: %v", err)
		}
	}
	for _, c := range o.conns {
		c.Close()
	}
	for _, c := range o.udp {
		c.Close()
	}
	o.t.Logf("datagrams of others: %d, %d of them sent again", o.sent, o.lost)
	if o.lost > programs {
		o.t.Errorf("%d of %d datagrams of others were lost, while %d programs went", o.lost, o.sent, programs)
	}
}

// TestXDPKilled kills a node with AF_XDP under load while others use the cable: nothing of it stays, the others do not notice, and the next one takes over.
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

	rb = b.start(xdpLink) // the peer that lost its partner finds the new one
	rb.do("open %s %s 7000", rxdStack, b.v4)
	rb.do("recv 1000 16")
	if id, _ := b.program(); id == 0 {
		t.Errorf("the new node has no AF_XDP: %s", rb.do("why %s %s", rxdStack, b.v4))
	}
	again(t, ra, rb)
	rb.killClean()
	ra.kill()

	ra, rb = xdpPair(a, b, a.v4, b.v4, []string{xdpLink}, []string{xdpLink})
	rb.bypassed(ra)
	o.goOn()
	ra.killClean()
	rb.killClean()
	o.goOn()
	o.end(4)
}

// bare has no privileges, and another user's.
var bare = []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"}

// locked may lock so many bytes of memory.
func locked(bytes int) []string {
	return []string{"prlimit", fmt.Sprintf("--memlock=%d:%[1]d", bytes), "setpriv", "--inh-caps=-ipc_lock", "--bounding-set=-ipc_lock"}
}

// attachOther attaches a program that passes all packets to a host's end of the cable, until the test ends.
func attachOther(h *host) {
	h.t.Helper()
	const xdpPass = 2 // enum xdp_action
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "somebodys", Type: ebpf.XDP, Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { prog.Close() })
	h.inside(func() error {
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

// openOther opens an endpoint in another process, which gets AF_XDP and is not told otherwise later.
func openOther(h *host) {
	h.t.Helper()
	r := h.start(xdpLink)
	r.do("open %s %s 7009", rxdStack, h.v4)
	if why := r.do("why %s %s", rxdStack, h.v4); h.xdpSockets() == 0 || strings.Contains(why, "sockets") {
		h.t.Errorf("the first process has %d AF_XDP sockets: %s", h.xdpSockets(), why)
	}
}

// TestXDPRefused: where AF_XDP cannot be had, messages flow through sockets, and the interface and the cause are named.
func TestXDPRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		under   []string
		prepare func(b *host)
		cause   string
	}{
		{"no privilege", bare, nil, xdp.NoRaw.Error()},
		{"no programs", []string{"setpriv", "--inh-caps=-all", "--bounding-set=-all,+net_raw"}, nil, xdp.NoBPF.Error()},
		{"no locked memory", locked(4096), nil, xdp.NoMemlock.Error()},
		{"too little locked memory", locked(8 << 20), nil, xdp.NoMemlock.Error()},
		{"another program", nil, attachOther, xdp.OtherProgram.Error() + ` ("somebodys"`},
		{"another process", nil, openOther, xdp.OtherOwner.Error()},
	} {
		for _, how := range []string{"xdp", "auto"} {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				a, b := newHosts(t)
				if tt.prepare != nil {
					tt.prepare(b)
				}
				refused(t, a.start(), b.startUnder(tt.under, "FI_UDP_LINK="+how), a.v4, b.v4, "eth9", tt.cause)
			})
		}
	}
	t.Run("lo", func(t *testing.T) {
		t.Parallel()
		_, b := newHosts(t)
		refused(t, b.start(), b.start(xdpLink), "127.0.0.2", "127.0.0.1", "lo", "the interface is lo")
	})
}

// refused exchanges messages with rb, which asked for AF_XDP and did not get it for a reason.
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
	if strings.Contains(why, " | ") || !strings.Contains(why, " "+ifc+": sockets are used: ") || !strings.Contains(why, cause) {
		t.Errorf("why: %q; want one reason, with %s and %q", why, ifc, cause)
	}
}
