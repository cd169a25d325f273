//go:build linux

package xdp

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// has returns the present form of an interface's program.
func has(i *Interface) form {
	i.prog.mu.Lock()
	defer i.prog.mu.Unlock()
	return i.prog.forms.is
}

// TestForms: the program is linear until long packets come for any receiver, and becomes linear again when they have
// stopped. A port loses nothing while the form changes.
func TestForms(t *testing.T) {
	a, b := places(t, 1, 1500)
	at, from := netip.AddrPortFrom(a.v4, 7001), netip.AddrPortFrom(b.v4, 7000)
	i, p := openPort(t, a, Config{Mode: Generic}, at)
	const quiet = 10 * time.Millisecond
	i.prog.mu.Lock()
	i.prog.forms.quiet = quiet
	i.prog.mu.Unlock()
	others := listen(t, a, netip.AddrPortFrom(a.v4, 7002))
	s := listen(t, b, from)
	deliver := func(text string) {
		t.Helper()
		_, err := s.WriteToUDPAddrPort([]byte(text), at)
		must(t, err)
		if got := payloadOf(t, take(t, p, 1)[0]); string(got) != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	run := func() {
		t.Helper()
		sendRun(t, b, a, others)
	}
	for n := range 3 {
		if has(i) != linearForm {
			t.Fatalf("round %d: the program is not linear at first", n)
		}
		deliver("linear")
		run()
		until(t, "the form with fragments", func() bool { return has(i) == fragsForm })
		deliver("frags")
		until(t, "the linear form", func() bool { return has(i) == linearForm })
	}
	_, err := s.WriteToUDPAddrPort(make([]byte, 1472), at) // the longest permitted packet is not a long one
	must(t, err)
	if got := payloadOf(t, take(t, p, 1)[0]); len(got) != 1472 {
		t.Errorf("%d bytes, want 1472", len(got))
	}
	var n uint32
	must(t, i.prog.longSeen.Lookup(uint32(0), &n))
	if n != 0 {
		t.Error("a packet of the MTU's length was counted as a long one")
	}
}

// sendRun sends the socket others, of to at port 7002, 20 datagrams as one run. The cable forwards the run as one
// packet.
func sendRun(t *testing.T, from, to *place, others *net.UDPConn) {
	t.Helper()
	from.Enter()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, 1400))
	must(t, unix.Sendto(fd, make([]byte, 20*1400), 0, &unix.SockaddrInet4{Port: 7002, Addr: to.v4.As4()}))
	buf := make([]byte, 2000)
	for range 20 {
		if n, err := others.Read(buf); n != 1400 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
}

// TestFormsRefused: if the kernel refuses a change of the form, the change is reported, and tried again until it
// succeeds.
func TestFormsRefused(t *testing.T) {
	a, b := places(t, 1, 1500)
	i, _ := openPort(t, a, Config{Mode: Generic}, netip.AddrPortFrom(a.v4, 7001))
	others := listen(t, a, netip.AddrPortFrom(a.v4, 7002))
	wrong, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	must(t, err)
	defer wrong.Close()
	refuse := func(prog **ebpf.Program) (stop func()) {
		p := i.prog
		p.mu.Lock()
		defer p.mu.Unlock()
		p.forms.quiet = 20 * time.Millisecond
		right := *prog
		// The kernel does not replace a program by one of another type (bpf_xdp_link_update).
		*prog = wrong
		return func() { p.mu.Lock(); *prog = right; p.mu.Unlock() }
	}
	refused := func(n uint64) func() bool {
		return func() bool { i.prog.mu.Lock(); defer i.prog.mu.Unlock(); return i.prog.forms.failed >= n }
	}
	if s := i.String(); strings.Contains(s, "refused") {
		t.Error(s)
	}
	stop := refuse(&i.prog.prog)
	sendRun(t, b, a, others)
	until(t, "three refusals", refused(3))
	if s := i.String(); has(i) != linearForm || !strings.Contains(s,
		"refused: it makes long packets linear, and may lose some: ") {
		t.Error(s)
	}
	unrefuse := refuse(&i.prog.forms.linear)
	stop()
	until(t, "the form with fragments", func() bool { return has(i) == fragsForm }) // no other long packet has come
	i.prog.mu.Lock()
	n := i.prog.forms.failed
	i.prog.mu.Unlock()
	until(t, "two more refusals", refused(n+2))
	if s := i.String(); has(i) != fragsForm || !strings.Contains(s, "refused: the slower program stays: ") {
		t.Error(s)
	}
	unrefuse()
	until(t, "the linear form", func() bool { return has(i) == linearForm })
	if s := i.String(); !strings.Contains(s, "updates of the XDP program refused,") {
		t.Error(s)
	}
}

// TestFormsJumbo: the form with fragments reports long packets even if their first fragment is shorter than the MTU.
// So the form stays while they come.
func TestFormsJumbo(t *testing.T) {
	a, b := places(t, 1, 9000)
	i, _ := openPort(t, a, Config{Mode: Generic}, netip.AddrPortFrom(a.v4, 7001))
	others := listen(t, a, netip.AddrPortFrom(a.v4, 7002))
	i.prog.mu.Lock()
	i.prog.forms.quiet = time.Hour
	i.prog.mu.Unlock()
	sendRun(t, b, a, others)
	until(t, "the form with fragments", func() bool { return has(i) == fragsForm })
	must(t, i.prog.longSeen.Put(uint32(0), uint32(0)))
	until(t, "a report of another long packet", func() bool {
		sendRun(t, b, a, others)
		var n uint32
		must(t, i.prog.longSeen.Lookup(uint32(0), &n))
		return n == 1
	})
	if has(i) != fragsForm {
		t.Error("it is linear again")
	}
}

// TestOneForm: there is only one form in driver mode, and if packets of several frames are switched off.
func TestOneForm(t *testing.T) {
	a, b := places(t, 1, 1500)
	for _, w := range []struct {
		h *place
		c Config
	}{{a, Config{Mode: Driver}}, {b, Config{Mode: Generic, NoMultiBuffer: true}}} {
		i, _ := openPort(t, w.h, w.c, netip.AddrPortFrom(w.h.v4, 7001))
		if i.prog.forms.events != nil || has(i) != fragsForm {
			t.Errorf("%+v: two forms", w.c)
		}
	}
}
