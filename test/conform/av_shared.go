package conform

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"gofabric/core"
)

const sharedCaps = core.CapSharedAV | core.CapTagged | core.CapSource

// sharedName returns a name that no other test has.
func sharedName(t *testing.T) string {
	return fmt.Sprintf("%s %d %d", t.Name(), os.Getpid(), time.Now().UnixNano())
}

// avShared has two sides open one vector. An index means the same to both.
func avShared(t *testing.T, st Stack) {
	st.NodeB = "" // a vector is shared within a domain, and each interface has a domain
	if !st.need(t, sharedCaps) {
		return
	}
	p := Open(t, st, WithCaps(sharedCaps), WithAV(core.AVAttr{Name: sharedName(t)}))
	if p.A.Peer == p.B.Peer {
		t.Fatalf("both sides have index %d in one vector", p.A.Peer)
	}
	for _, s := range []*Side{p.A, p.B} {
		for fi, want := range map[core.FIAddr]core.Addr{p.A.Peer: p.B.Addr, p.B.Peer: p.A.Addr} {
			if a, err := s.AV.Lookup(fi); err != nil || a != want {
				t.Errorf("%s: Lookup(%d) = %v, %v; want %v", s.Name, fi, a.IP, err, want.IP)
			}
		}
	}
	if m := p.A.AV.Attr().MapAddr; m == 0 || m != p.B.AV.Attr().MapAddr {
		t.Errorf("map_addr %#x and %#x", m, p.B.AV.Attr().MapAddr)
	}
	tagged := func(s *Side) func([]byte) error {
		return func(in []byte) error { return s.Rx().TRecv(in, 0, core.AddrUnspec, 7, 0, 900) }
	}
	for range 2 {
		if src := say(p, p.A, p.B, tagged(p.B)); src != p.B.Peer {
			t.Errorf("source %d; want %d", int64(src), p.B.Peer)
		}
		if src := say(p, p.B, p.A, tagged(p.A)); src != p.A.Peer {
			t.Errorf("source %d; want %d", int64(src), p.A.Peer)
		}
	}
	// An address that one side removes is gone for the other side from its next call on the vector on.
	p.A.ok("Remove", p.A.AV.Remove([]core.FIAddr{p.B.Peer}, 0))
	_, err := p.B.AV.Lookup(p.B.Peer)
	refuse(t, "Lookup of what the other side removed", err, core.ErrInval)
	refuse(t, "send to what the other side removed", p.B.EP.TSend(nil, 0, p.B.Peer, 7, 1), core.ErrInval)
	// The other side inserts it again.
	if fi := p.A.Insert(p.A.Addr); fi != p.B.Peer {
		t.Errorf("index %d; want the lowest free one, %d", fi, p.B.Peer)
	}
	if src := say(p, p.B, p.A, tagged(p.A)); src != p.A.Peer {
		t.Errorf("source %d; want %d", int64(src), p.A.Peer)
	}
	if src := say(p, p.A, p.B, tagged(p.B)); src != p.B.Peer {
		t.Errorf("source %d; want %d", int64(src), p.B.Peer)
	}
}

// avSharedMoves has one side give the other a new index repeatedly. Messages are reported with the index that is
// valid.
func avSharedMoves(t *testing.T, st Stack) {
	st.NodeB = "" // a vector is shared within a domain, and each interface has a domain
	if !st.need(t, sharedCaps) {
		return
	}
	p := Open(t, st, WithCaps(sharedCaps), WithAV(core.AVAttr{Name: sharedName(t)}))
	tagged := func(in []byte) error { return p.A.Rx().TRecv(in, 0, core.AddrUnspec, 7, 0, 900) }
	say(p, p.B, p.A, tagged)
	old := p.A.Peer
	for i := range 8 { // the sides learn of the changes in any order
		p.B.ok("Remove", p.B.AV.Remove([]core.FIAddr{old}, 0))
		fi := make([]core.FIAddr, 2)
		_, err := p.B.AV.Insert([]core.Addr{core.IPAddr(netip.AddrPortFrom(p.B.Addr.IP.Addr(), uint16(1+i))),
			p.B.Addr}, fi, 0)
		p.B.ok("Insert", err)
		if fi[0] != old || fi[1] == old {
			t.Fatalf("indexes %v; want the free one, %d, and another", fi, old)
		}
		old = fi[1]
		if _, err := p.A.AV.Lookup(old); err != nil {
			t.Fatal(err)
		}
		if src := say(p, p.B, p.A, tagged); src != old {
			t.Errorf("source %d; want %d", int64(src), old)
		}
	}
}

// avSharedReader opens a vector read-only.
func avSharedReader(t *testing.T, st Stack) {
	st.NodeB = "" // a vector is shared within a domain, and each interface has a domain
	if !st.need(t, sharedCaps) {
		return
	}
	name := sharedName(t)
	p := Open(t, st, WithCaps(sharedCaps), WithAV(core.AVAttr{Name: name}))
	read := func(name string) (*core.AddressVector, error) {
		return p.B.Domain.OpenAV(core.AVAttr{Name: name, Flags: core.AVRead})
	}
	_, err := read(name + "'")
	refuse(t, "reading a vector that is not there", err, core.ErrNoEnt)
	_, err = read("")
	refuse(t, "reading a vector without name", err, core.ErrInval)
	av := must(t, "OpenAV for reading", func() (*core.AddressVector, error) { return read(name) })
	if a, err := av.Lookup(p.A.Peer); err != nil || a != p.B.Addr {
		t.Errorf("Lookup: %v, %v", a, err)
	}
	_, err = av.Insert([]core.Addr{p.A.Addr}, nil, 0)
	refuse(t, "insertion by a reader", err, core.ErrAccess)
	refuse(t, "removal by a reader", av.Remove([]core.FIAddr{0}, 0), core.ErrAccess)
	p.B.ok("Close AV", av.Close())
}

const sharedVar = "GOFABRIC_TEST_SHARED"

// SharedAV has this process and another exchange messages with the indices of a vector that they share. test is the
// name of the calling test, which the other process runs, too.
func SharedAV(t *testing.T, st Stack, test string) {
	name := os.Getenv(sharedVar)
	if name != "" {
		echoShared(t, st, name)
		return
	}
	NoLeaks(t)
	name = sharedName(t)
	p := openShared(t, st, name)
	mine := p.A.Insert(p.A.Addr)
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), sharedVar+"="+name)
	cmd.Stderr = os.Stderr
	in := must(t, "StdinPipe", cmd.StdinPipe)
	out := must(t, "StdoutPipe", cmd.StdoutPipe)
	p.A.ok("start of the other process", cmd.Start())
	defer func() {
		in.Close()
		p.A.ok("the other process", cmd.Wait())
	}()
	var its core.FIAddr
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the other process: %v", err)
		}
		if n, _ := fmt.Sscanf(line, "index %d", &its); n == 1 {
			go io.Copy(io.Discard, r)
			break
		}
	}
	if its == mine {
		t.Fatalf("both processes have index %d", mine)
	}
	p.A.Peer = its
	for range 3 {
		back := make([]byte, 32)
		p.A.ok("receive", p.A.Rx().TRecv(back, 0, its, 8, 0, 3))
		p.Retry("send", func() error { return p.A.EP.TSend(Pattern(32, 5), 0, its, 7, 2) })
		p.Want(p.A, 2)
		if g := p.Want(p.A, 3); g.Src != its {
			t.Errorf("source %d; want %d", int64(g.Src), its)
		}
		CheckPattern(t, "the message that was returned", back, 32, 5)
	}
}

// openShared opens one side, which is both sides of the Pair.
func openShared(t *testing.T, st Stack, name string) *Pair {
	t.Helper()
	s := openSide(t, st, "A", makeConfig([]Option{WithCaps(sharedCaps | core.CapDirectedRecv), WithAV(core.AVAttr{Name: name})}), nil)
	s.openEP(s.Info)
	s.Addr = must(t, "Name", s.EP.Name)
	t.Cleanup(func() {
		s.CloseEP()
		s.Close()
	})
	return &Pair{T: t, Stack: st, A: s, B: s}
}

// echoShared is the other process. It returns messages to their sources until it gets the one that ends it.
func echoShared(t *testing.T, st Stack, name string) {
	p := openShared(t, st, name)
	fmt.Printf("\nindex %d\n", p.A.Insert(p.A.Addr))
	for range 3 {
		buf := make([]byte, 32)
		p.A.ok("receive", p.A.Rx().TRecv(buf, 0, core.AddrUnspec, 7, 0, 1))
		src := p.Want(p.A, 1).Src
		p.Retry("send", func() error { return p.A.EP.TSend(buf, 0, src, 8, 2) })
		p.Want(p.A, 2)
	}
	io.Copy(io.Discard, os.Stdin)
}
