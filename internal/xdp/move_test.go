//go:build linux

package xdp

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"gofabric/internal/mono"
)

// sweep tells an interface of large messages, which are faster with its program aside. It returns when that is aside; end ends them.
func sweep(t *testing.T, i *Interface) (end func()) {
	t.Helper()
	i.mover.mu.Lock()
	i.mover.a.best, i.mover.a.until = true, mono.Never
	i.mover.mu.Unlock()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(asideQuiet / 20); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				i.Came(mono.Now(), 8<<20, 8, 0)
			}
		}
	}()
	until(t, "stepping aside", i.Aside)
	return func() {
		close(stop)
		<-stopped
	}
}

// on reports whether an interface's program is on it, and is not about to be taken off: a sweep that was ended may have ordered that the moment before.
func on(i *Interface) bool {
	m := &i.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.a.off && !m.a.moving
}

// gone reports whether it is off the interface, not only about to be.
func gone(i *Interface) bool {
	m := &i.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.a.off && !m.a.moving
}

// TestStepAside: while large messages come, packets come to the socket, and to the port again when they have ended, or when a port wants it so. Frames leave all the time.
func TestStepAside(t *testing.T) {
	a, b := places(t, 1, 1500)
	at := netip.AddrPortFrom(a.v4, 7001)
	i, p := openPort(t, a, Config{Mode: Generic}, at)
	plain := listen(t, a, at)
	s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
	buf := make([]byte, 100)
	for n, end := range []func(stop func()){
		func(stop func()) { stop() },
		func(stop func()) { p.Stay(true); t.Cleanup(stop) },
	} {
		stop := sweep(t, i)
		until(t, "a datagram at the socket", func() bool { // the end of large messages may be seen on a busy machine where they only pause
			_, err := s.WriteToUDPAddrPort([]byte("aside"), at)
			must(t, err)
			must(t, plain.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
			got, _, err := plain.ReadFromUDPAddrPort(buf)
			return err == nil && string(buf[:got]) == "aside"
		})
		put(t, p, packet(t, a, b, at, netip.AddrPortFrom(b.v4, 7000), []byte("out")))
		if got, _, err := s.ReadFromUDPAddrPort(buf); err != nil || string(buf[:got]) != "out" {
			t.Errorf("%q, %v", buf[:got], err)
		}
		end(stop)
		until(t, "coming back", func() bool { return on(i) })
		_, err := s.WriteToUDPAddrPort([]byte("back"), at)
		must(t, err)
		for back := false; !back; { // an earlier one may have come to the port, and be taken along with it
			for _, packet := range take(t, p, 1) {
				back = string(payloadOf(t, packet)) == "back"
			}
		}
		if i.Steps() < uint64(n+1) {
			t.Errorf("%d steps", i.Steps())
		}
	}
	had := i.Steps()
	for range 1000 {
		i.Came(mono.Now(), 1<<30, 8, 0)
	}
	if i.Steps() != had || i.Aside() {
		t.Error("it stepped aside though a port wanted it not to")
	}
	p.Stay(false)
	until(t, "stepping aside", i.Aside)
	must(t, p.Close()) // aside: nothing is left of it
	i.Close()
	a.Enter()
	until(t, "the program's end", func() bool { return attachedTo(i.Index()) == 0 })
	_, p = openPort(t, a, Config{Mode: Generic}, at)
	_, err := s.WriteToUDPAddrPort([]byte("again"), at)
	must(t, err)
	if got := payloadOf(t, take(t, p, 1)[0]); string(got) != "again" {
		t.Errorf("%q", got)
	}
}

// TestRested: who looks and finds nothing brings the program back when large messages have ended, and not before.
func TestRested(t *testing.T) {
	a, _ := places(t, 1, 1500)
	i, _ := openPort(t, a, Config{Mode: Generic}, netip.AddrPortFrom(a.v4, 7001))
	m := &i.mover
	var now mono.Time
	until(t, "being aside, with nobody to look", func() bool {
		sweep(t, i)()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.timer.Stop() // on a busy machine it was faster
		now = mono.Now()
		m.a.last = now
		return m.a.off && !m.a.moving
	})
	i.Rested(now.Add(asideQuiet - 1))
	if on(i) || !i.Aside() {
		t.Error("it came back while large messages came")
	}
	i.Rested(now.Add(asideQuiet))
	until(t, "coming back", func() bool { return on(i) && !i.Aside() })
	steps := i.Steps()
	i.Rested(now.Add(time.Hour)) // it is on
	if i.Aside() || i.Steps() != steps {
		t.Error("it moved")
	}
}

// TestStepAsideStolen: when another program is there that has come while ours was aside, the ports are told which, and it stays.
func TestStepAsideStolen(t *testing.T) {
	a, _ := places(t, 1, 1500)
	i, p := openPort(t, a, Config{Mode: Generic}, netip.AddrPortFrom(a.v4, 7001))
	var why atomic.Pointer[error]
	p.OnLoss(func(err error) { why.Store(&err) })
	ifc, err := net.InterfaceByName("eth9")
	must(t, err)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "somebodys", Type: ebpf.XDP, Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
	must(t, err)
	defer prog.Close()
	stop := sweep(t, i)
	var l link.Link
	until(t, "room for another program", func() bool {
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: ifc.Index, Flags: link.XDPGenericMode})
		return err == nil
	})
	defer l.Close()
	stop()
	until(t, "a first try", func() bool {
		i.mover.mu.Lock()
		defer i.mover.mu.Unlock()
		if i.mover.a.failed > 0 {
			i.mover.a.failed = attempts - 1 // the tries that follow take seconds
		}
		return i.mover.a.failed > 0
	})
	until(t, "word of it", func() bool { return why.Load() != nil })
	if e := *why.Load(); !errors.Is(e, OtherProgram) {
		t.Error(e)
	}
	if id := attachedTo(ifc.Index); id == 0 || !i.Aside() {
		t.Errorf("program %d, aside %v", id, i.Aside())
	}
}

// TestStayAside: a port that wants the program on has it back though large messages do not end, whether it is aside then or about to be.
func TestStayAside(t *testing.T) {
	a, _ := places(t, 1, 1500)
	i, p := openPort(t, a, Config{Mode: Generic}, netip.AddrPortFrom(a.v4, 7001))
	m := &i.mover
	largeFor := func(d time.Duration) {
		m.mu.Lock()
		m.a.last = mono.Now().Add(d)
		m.mu.Unlock()
	}
	is := func(off, moving bool) func() bool {
		return func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.a.off == off && m.a.moving == moving }
	}
	for _, moving := range []bool{false, true} {
		i.prog.mu.Lock() // who is about to step aside stays so
		sweep(t, i)()
		if !moving {
			i.prog.mu.Unlock()
			until(t, "stepping aside", is(true, false))
		}
		largeFor(time.Hour)
		p.Stay(true)
		if moving {
			i.prog.mu.Unlock()
		}
		until(t, "coming back", is(false, false))
		if a.Enter(); attachedTo(i.Index()) == 0 {
			t.Error("there is no program")
		}
		p.Stay(false)
		largeFor(-time.Hour)
	}
}
