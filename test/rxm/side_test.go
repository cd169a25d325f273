// Package rxm tests endpoints of tcp;ofi_rxm where the conformance suite cannot: how many connections they have, and
// what these cost.
package rxm

// The base of the tests: endpoints with variables of their own.

import (
	"errors"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/test/parallel"
	"gofabric/test/wait"
)

func TestMain(m *testing.M) {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close() // opens the runtime's own descriptors before the tests count any
	}
	parallel.Run(8)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if n := descriptors(); code == 0 && n > descriptorsFirst {
			println("descriptors left open:", n-descriptorsFirst)
			code = 1
		}
		os.Exit(code)
	}))
}

var descriptorsFirst = func() int {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
	}
	return descriptors()
}()

// descriptors returns how many descriptors the process has open, 0 where that is unknown.
func descriptors() int {
	d, _ := os.ReadDir("/proc/self/fd")
	return len(d)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// side is one endpoint with its objects.
type side struct {
	t      testing.TB
	fabric *core.Fabric
	domain *core.Domain
	info   *core.Info
	cq     *core.CompletionQueue
	av     *core.AddressVector
	ep     *core.Endpoint
	mr     *core.MemoryRegion
	peer   core.FIAddr // the last one that was inserted
	got    [64]core.CQEntry
	done   map[core.OpContext]int // completions seen
	err    error                  // an error completion
}

// open opens a side with FI_* variables. mem is memory that peers may read and write. nil means one byte.
func open(t *testing.T, mem []byte, vars map[string]string) *side {
	t.Helper()
	return openOver(t, "tcp;ofi_rxm", mem, vars)
}

// openOver is open over another provider of connections.
func openOver(t *testing.T, provider string, mem []byte, vars map[string]string) *side {
	t.Helper()
	st := conform.Over(t, conform.Stack{Name: "rxm", Provider: provider, EPType: core.EPTypeRDM}, vars)
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type = st.Provider, st.EPType
	hints.Caps = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic | core.CapSource
	infos, err := st.GetInfo(st.Node, "", core.InfoSource, hints)
	check(t, err)
	s := &side{t: t, info: infos[0], done: map[core.OpContext]int{}}
	s.fabric, err = st.OpenFabric(s.info)
	check(t, err)
	s.domain, err = s.fabric.OpenDomain(s.info)
	check(t, err)
	s.cq, err = s.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
	check(t, err)
	s.av, err = s.domain.OpenAV(core.AVAttr{})
	check(t, err)
	if mem == nil {
		mem = make([]byte, 1)
	}
	s.mr, err = s.domain.RegMR(&core.MRAttr{IOV: [][]byte{mem},
		Access: core.AccessRemoteRead | core.AccessRemoteWrite, RequestedKey: 1})
	check(t, err)
	s.openEP()
	t.Cleanup(func() {
		for _, o := range []core.Object{s.ep, s.mr, s.av, s.cq, s.domain, s.fabric} {
			check(t, o.Close())
		}
	})
	return s
}

func (s *side) openEP() {
	s.t.Helper()
	ep, err := s.domain.OpenEndpoint(s.info)
	check(s.t, err)
	check(s.t, ep.BindCQ(s.cq, core.BindTransmit|core.BindRecv))
	check(s.t, ep.BindAV(s.av, 0))
	check(s.t, ep.Enable())
	s.ep = ep
}

// know inserts the address of b into s's vector.
func (s *side) know(b *side) core.FIAddr {
	s.t.Helper()
	name, err := b.ep.Name()
	check(s.t, err)
	var fi [1]core.FIAddr
	_, err = s.av.Insert([]core.Addr{name}, fi[:], 0)
	check(s.t, err)
	s.peer = fi[0]
	return fi[0]
}

// read reads the queue once, and returns the number of completions.
func (s *side) read() (int, error) {
	n, err := s.cq.Read(s.got[:])
	switch {
	case errors.Is(err, core.ErrAgain):
		return 0, nil
	case errors.Is(err, core.ErrAvail):
		var e core.CQErrEntry
		if s.cq.ReadErr(&e) == nil && s.err == nil {
			s.err = e.Err
		}
		return 0, s.err
	}
	return n, err
}

// take reads completions into done.
func (s *side) take() {
	s.t.Helper()
	n, err := s.read()
	check(s.t, err)
	for _, e := range s.got[:n] {
		s.done[e.Ctx]++
	}
}

// conns returns the number of connections.
func (s *side) conns() int {
	return s.ep.Driver().(interface{ Connections() int }).Connections()
}

// until makes progress at all sides until cond is true.
func until(t testing.TB, what string, cond func() bool, sides ...*side) {
	t.Helper()
	wait.Until(t, what, func() bool {
		if cond() {
			return true
		}
		for _, s := range sides {
			s.take()
		}
		return cond()
	})
}

// try posts again as long as there is no room.
func try(t testing.TB, f func() error, sides ...*side) {
	t.Helper()
	wait.Until(t, "room for a post", func() bool {
		err := f()
		if !errors.Is(err, core.ErrAgain) {
			check(t, err)
			return true
		}
		for _, s := range sides {
			s.take()
		}
		return false
	})
}

// message sends n bytes from a to b and waits for both ends. fi is b's address in a's vector.
func message(t testing.TB, a, b *side, fi core.FIAddr, n int, ctx core.OpContext) {
	t.Helper()
	out, in := make([]byte, n), make([]byte, n)
	for i := range out {
		out[i] = byte(i) ^ byte(ctx)
	}
	check(t, b.ep.TRecv(in, 0, core.AddrUnspec, uint64(ctx), 0, ctx))
	try(t, func() error { return a.ep.TSend(out, 0, fi, uint64(ctx), ctx) }, a, b)
	wantA, wantB := a.done[ctx]+1, b.done[ctx]+1
	until(t, "a message arrives", func() bool { return a.done[ctx] >= wantA && b.done[ctx] >= wantB }, a, b)
	for i := range in {
		if in[i] != out[i] {
			t.Fatalf("byte %d of %d is %d, want %d", i, n, in[i], out[i])
		}
	}
}
