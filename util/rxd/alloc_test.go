package rxd_test

import (
	"os"
	"testing"

	"gofabric"
	"gofabric/core"
)

// side is one endpoint with everything it needs.
type side struct {
	fabric core.Fabric
	domain core.Domain
	cq     core.CompletionQueue
	av     core.AddressVector
	ep     core.Endpoint
	mr     core.MemoryRegion
	peer   core.FIAddr
	got    [64]core.CQEntry
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, mem []byte) *side {
	t.Helper()
	return openAs(t, "udp;ofi_rxd", core.EPTypeRDM, mem)
}

func openAs(t testing.TB, prov string, typ core.EPType, mem []byte) *side {
	t.Helper()
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type = prov, typ
	if hints.Caps = core.CapMsg; typ == core.EPTypeRDM {
		hints.Caps |= core.CapTagged | core.CapRMA | core.CapAtomic
	}
	infos, _, err := gofabric.GetInfo(core.Query{Version: core.LibraryVersion, Node: "127.0.0.1", Flags: core.Source, Hints: hints})
	check(t, err)
	info := infos[0]
	s := &side{}
	s.fabric, err = gofabric.OpenFabric(info)
	check(t, err)
	s.domain, err = s.fabric.OpenDomain(info)
	check(t, err)
	s.cq, err = s.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
	check(t, err)
	s.av, err = s.domain.OpenAV(core.AVAttr{})
	check(t, err)
	s.mr, err = s.domain.RegMR(&core.MRAttr{IOV: [][]byte{mem}, Access: core.RemoteRead | core.RemoteWrite, RequestedKey: 1})
	check(t, err)
	s.ep, err = s.domain.OpenEndpoint(info)
	check(t, err)
	check(t, s.ep.BindCQ(s.cq, core.BindTransmit|core.BindRecv))
	check(t, s.ep.BindAV(s.av, 0))
	check(t, s.ep.Enable())
	t.Cleanup(func() {
		for _, o := range []core.Object{s.ep, s.mr, s.av, s.cq, s.domain, s.fabric} {
			check(t, o.Close())
		}
	})
	return s
}

// pair returns two sides that know each other.
func pair(t testing.TB, mem []byte) (a, b *side) {
	a, b = open(t, mem), open(t, mem)
	know(t, a, b)
	know(t, b, a)
	return a, b
}

// know puts the address of b into a's vector.
func know(t testing.TB, a, b *side) {
	t.Helper()
	name, err := b.ep.Name()
	check(t, err)
	var fi [1]core.FIAddr
	_, err = a.av.Insert([]core.Addr{name}, fi[:], 0)
	check(t, err)
	a.peer = fi[0]
}

// until reads both queues until each has seen as many completions as wanted.
func until(a, b *side, wantA, wantB int) error {
	for {
		n, err := a.read()
		if err != nil {
			return err
		}
		wantA -= n
		if n, err = b.read(); err != nil {
			return err
		}
		if wantB -= n; wantA <= 0 && wantB <= 0 {
			return nil
		}
	}
}

func (s *side) read() (int, error) {
	n, err := s.cq.Read(s.got[:])
	if err == core.ErrAgain {
		err = nil
	}
	return n, err
}

func post(f func() error, a, b *side) error {
	for {
		err := f()
		if err != core.ErrAgain {
			return err
		}
		until(a, b, 0, 0)
	}
}

// TestMain has large messages go in datagrams: copies from process to process are measured with tcp.
func TestMain(m *testing.M) {
	os.Setenv("FI_OFI_RXD_SINGLE_COPY_SIZE", "-1") // before anything looks there
	os.Exit(m.Run())
}

// TestNoAllocation: an operation of any kind allocates nothing in steady state, from post to completion, at both ends.
func TestNoAllocation(t *testing.T) {
	mem := make([]byte, 1<<20)
	a, b := pair(t, mem)
	args := &core.AtomicArgs{IOV: make([][]byte, 1), RMAIOC: []core.RMAIoc{{Key: 1}}, Type: core.Uint64, Op: core.AtomicSum, Ctx: 1}
	result := make([][]byte, 1)
	ops := map[string]func(buf, in []byte) error{
		"send": func(buf, in []byte) error {
			if err := b.ep.Recv(in, 0, core.AddrUnspec, 2); err != nil {
				return err
			}
			if err := post(func() error { return a.ep.Send(buf, 0, a.peer, 1) }, a, b); err != nil {
				return err
			}
			return until(a, b, 1, 1)
		},
		"tagged": func(buf, in []byte) error {
			if err := b.ep.TRecv(in, 0, core.AddrUnspec, 7, 0, 2); err != nil {
				return err
			}
			if err := post(func() error { return a.ep.TSend(buf, 0, a.peer, 7, 1) }, a, b); err != nil {
				return err
			}
			return until(a, b, 1, 1)
		},
		"write": func(buf, in []byte) error {
			if err := post(func() error { return a.ep.Write(buf, 0, a.peer, 0, 1, 1) }, a, b); err != nil {
				return err
			}
			return until(a, b, 1, 0)
		},
		"fetch": func(buf, in []byte) error {
			buf, in = buf[:min(len(buf), 4096)], in[:min(len(in), 4096)]
			args.IOV[0], args.RMAIOC[0].Count, args.Addr, result[0] = buf, len(buf)/8, a.peer, in
			if err := post(func() error { return a.ep.FetchAtomic(args, result, nil, 0) }, a, b); err != nil {
				return err
			}
			return until(a, b, 1, 0)
		},
		"read": func(buf, in []byte) error {
			if err := post(func() error { return a.ep.Read(in, 0, a.peer, 0, 1, 1) }, a, b); err != nil {
				return err
			}
			return until(a, b, 1, 0)
		},
	}
	for name, op := range ops {
		for _, size := range []int{64, 4096, 65536, 1 << 20} {
			buf, in := make([]byte, size), make([]byte, size)
			for range 50 { // connect, and fill the pools
				check(t, op(buf, in))
			}
			var err error
			n := testing.AllocsPerRun(200, func() {
				if e := op(buf, in); e != nil {
					err = e
				}
			})
			check(t, err)
			if n != 0 {
				t.Errorf("%s of %d bytes: %v allocations per operation", name, size, n)
			}
		}
	}
}
