// Package duo is for tests and benchmarks of the cost of operations. It opens two endpoints in one process that know
// each other.
package duo

import (
	"testing"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
)

// Side is one endpoint with its objects.
type Side struct {
	Fabric *core.Fabric
	Domain *core.Domain
	CQ     *core.CompletionQueue
	AV     *core.AddressVector
	EP     *core.Endpoint
	MR     *core.MemoryRegion // key 1
	Peer   core.FIAddr
	Got    [64]core.CQEntry
}

// Check ends the test if err is not nil.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Open opens a side of a stack on loopback. Its peer may read and write mem.
func Open(t testing.TB, provider string, typ core.EPType, mem []byte) *Side {
	t.Helper()
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type = provider, typ
	if hints.Caps = core.CapMsg; typ == core.EPTypeRDM {
		hints.Caps |= core.CapTagged | core.CapRMA | core.CapAtomic
	}
	infos, _, err := gofabric.GetInfo(core.Query{Version: core.LibraryVersion, Node: "127.0.0.1",
		Flags: core.InfoSource, Hints: hints})
	Check(t, err)
	return OpenInfo(t, nil, infos[0], mem)
}

// OpenInfo opens a side on an Info of a registry. A nil registry is the process' own.
func OpenInfo(t testing.TB, reg *core.Registry, info *core.Info, mem []byte) *Side {
	t.Helper()
	s := &Side{}
	var err error
	if reg == nil {
		s.Fabric, err = gofabric.OpenFabric(info)
	} else {
		s.Fabric, err = core.OpenFabric(reg, info)
	}
	Check(t, err)
	s.Domain, err = s.Fabric.OpenDomain(info)
	Check(t, err)
	s.CQ, err = s.Domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
	Check(t, err)
	s.AV, err = s.Domain.OpenAV(core.AVAttr{})
	Check(t, err)
	s.MR, err = s.Domain.RegMR(&core.MRAttr{IOV: [][]byte{mem},
		Access: core.AccessRemoteRead | core.AccessRemoteWrite, RequestedKey: 1})
	Check(t, err)
	s.EP, err = s.Domain.OpenEndpoint(info)
	Check(t, err)
	Check(t, s.EP.BindCQ(s.CQ, core.BindTransmit|core.BindRecv))
	Check(t, s.EP.BindAV(s.AV, 0))
	Check(t, s.EP.Enable())
	t.Cleanup(func() {
		for _, o := range []core.Object{s.EP, s.MR, s.AV, s.CQ, s.Domain, s.Fabric} {
			Check(t, o.Close())
		}
	})
	return s
}

// Pair returns two sides that know each other.
func Pair(t testing.TB, provider string, typ core.EPType, mem []byte) (a, b *Side) {
	t.Helper()
	a, b = Open(t, provider, typ, mem), Open(t, provider, typ, mem)
	Know(t, a, b)
	Know(t, b, a)
	return a, b
}

// Know inserts the address of b into a's vector.
func Know(t testing.TB, a, b *Side) {
	t.Helper()
	name, err := b.EP.Name()
	Check(t, err)
	var fi [1]core.FIAddr
	_, err = a.AV.Insert([]core.Addr{name}, fi[:], 0)
	Check(t, err)
	a.Peer = fi[0]
}

// Until reads both queues until they have returned as many completions as wanted.
func Until(a, b *Side, wantA, wantB int) error {
	for {
		n, err := a.Read()
		if err != nil {
			return err
		}
		wantA -= n
		if n, err = b.Read(); err != nil {
			return err
		}
		if wantB -= n; wantA <= 0 && wantB <= 0 {
			return nil
		}
	}
}

// Read reads the queue and returns the number of completions.
func (s *Side) Read() (int, error) {
	n, err := s.CQ.Read(s.Got[:])
	if err == core.ErrAgain {
		err = nil
	}
	return n, err
}

// Post posts until the endpoint accepts the operation. Meanwhile it reads both queues.
func Post(f func() error, a, b *Side) error {
	for {
		err := f()
		if err != core.ErrAgain {
			return err
		}
		if err := Until(a, b, 0, 0); err != nil {
			return err
		}
	}
}
