package mr

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"gofabric/core"
	"pgregory.net/rapid"
)

const remote = core.AccessRemoteRead | core.AccessRemoteWrite

func newMap(mode core.MRMode) *Map { return NewMap(mode, rand.Uint64, &sync.Mutex{}) }

func reg(t *testing.T, m *Map, attr core.MRAttr) *Region {
	t.Helper()
	r, err := m.Reg(&attr)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegRefuses(t *testing.T) {
	mem := [][]byte{make([]byte, 8)}
	for _, c := range []struct {
		mode core.MRMode
		attr *core.MRAttr
		want error
	}{
		{0, nil, core.ErrInval},
		{0, &core.MRAttr{Access: remote}, core.ErrInval},
		{0, &core.MRAttr{IOV: [][]byte{{1}, {2}}, Access: remote}, core.ErrInval},
		{0, &core.MRAttr{IOV: [][]byte{}, Access: remote}, core.ErrInval},
		{0, &core.MRAttr{IOV: [][]byte{nil}, Access: remote}, core.ErrInval},
		{0, &core.MRAttr{IOV: [][]byte{mem[0][:0]}, Access: core.AccessSend}, core.ErrInval},
		{0, &core.MRAttr{IOV: mem, Access: remote, Offset: 1}, core.ErrInval},
		{0, &core.MRAttr{IOV: mem, Access: 1 << 16}, core.ErrInval},
		{0, &core.MRAttr{IOV: mem, Access: remote, Flags: core.MRDMABuf}, core.ErrBadFlags},
		{0, &core.MRAttr{IOV: mem, Access: remote, RequestedKey: 7}, core.ErrNoKey},
		{0, &core.MRAttr{IOV: mem, Access: remote, RequestedKey: core.KeyNotAvail}, core.ErrNoKey},
		{0, &core.MRAttr{IOV: mem, Access: core.AccessSend, RequestedKey: 7}, nil},
		{0, &core.MRAttr{IOV: mem, Access: remote, RequestedKey: 8, Flags: core.MRRMAEvent}, nil},
		{core.MRModeProvKey, &core.MRAttr{IOV: mem, Access: remote, RequestedKey: 7}, nil},
	} {
		m := newMap(c.mode)
		reg(t, m, core.MRAttr{IOV: mem, Access: remote, RequestedKey: 7})
		r, err := m.Reg(c.attr)
		if !errors.Is(err, c.want) || (err == nil) != (r != nil) {
			t.Errorf("%+v: %v, want %v", c.attr, err, c.want)
		}
		if n := m.Len(); err == nil && n != 2 || err != nil && n != 1 {
			t.Error("regions:", n)
		}
	}
}

func TestKeys(t *testing.T) {
	m := newMap(0)
	a := reg(t, m, core.MRAttr{IOV: [][]byte{{1}}, Access: remote, RequestedKey: 5})
	local := reg(t, m, core.MRAttr{IOV: [][]byte{{1}}, Access: core.AccessSend | core.AccessRead, RequestedKey: 5})
	if a.Key() != 5 || a.Base() != 0 || local.Key() != core.KeyNotAvail || a.Desc() == 0 || a.Desc() == local.Desc() {
		t.Error(a.Key(), a.Base(), local.Key(), a.Desc(), local.Desc())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if a.Close() != core.ErrBadF || a.Enable() != core.ErrBadF || a.Bind(&endpoint{}, 0) != core.ErrBadF {
		t.Error("a closed region still works")
	}
	m.lock.Lock()
	_, _, errno := m.Verify(5, 0, 1, core.AccessRemoteRead)
	m.lock.Unlock()
	if errno != core.ErrInval {
		t.Error("a closed region's key is valid:", errno)
	}
	reg(t, m, core.MRAttr{IOV: [][]byte{{1}}, Access: remote, RequestedKey: 5})
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}

	draws := []uint64{9, 9, 0, core.KeyNotAvail, 10}
	m = NewMap(core.MRModeProvKey, func() uint64 { d := draws[0]; draws = append(draws[1:], d); return d },
		&sync.Mutex{})
	for _, want := range []uint64{9, 10} {
		if r := reg(t, m, core.MRAttr{IOV: [][]byte{{1}}, Access: remote}); r.Key() != want {
			t.Error(r.Key(), want)
		}
	}
	if _, err := m.Reg(&core.MRAttr{IOV: [][]byte{{1}}, Access: remote}); !errors.Is(err, core.ErrNoKey) {
		t.Error("a broken source of keys:", err)
	}
}

func TestModes(t *testing.T) {
	mem := []byte("0123456789")
	for mode, virt := range map[core.MRMode]bool{
		0: false, core.MRModeScalable: false, core.MRModeVirtAddr: true, core.MRModeBasic: true,
		core.MRModeLocal | core.MRModeAllocated | core.MRModeProvKey: false,
	} {
		m := newMap(mode)
		r := reg(t, m, core.MRAttr{IOV: [][]byte{mem[2:8]}, Access: core.AccessRemoteRead})
		if (r.Base() != 0) != virt || virt && r.Base() != addressOf(mem)+2 {
			t.Errorf("mode %#x: base %#x", mode, r.Base())
		}
		got, r2, err := m.Verify(r.Key(), r.Base()+1, 3, core.AccessRemoteRead)
		if string(got) != "345" || cap(got) != 3 || r2 != r || err != 0 {
			t.Errorf("mode %#x: %q %v", mode, got, err)
		}
		if string(r.Bytes()) != "234567" || r.Access() != core.AccessRemoteRead {
			t.Error(r.Bytes(), r.Access())
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	for _, mode := range []core.MRMode{0, core.MRModeVirtAddr} {
		m := newMap(mode)
		r := reg(t, m, core.MRAttr{IOV: [][]byte{make([]byte, 100)}, Access: core.AccessRemoteRead, RequestedKey: 1})
		w := reg(t, m, core.MRAttr{IOV: [][]byte{make([]byte, 100)}, Access: core.AccessRemoteWrite, RequestedKey: 2})
		b := r.Base()
		for _, c := range []struct {
			key, addr, length uint64
			access            core.Access
			want              core.Errno
		}{
			{1, b, 100, core.AccessRemoteRead, 0},
			{1, b + 100, 0, core.AccessRemoteRead, 0},
			{1, b + 99, 1, core.AccessRemoteRead, 0},
			{1, b + 99, 2, core.AccessRemoteRead, core.ErrAccess},
			{1, b + 101, 0, core.AccessRemoteRead, core.ErrAccess},
			{1, b - 1, 1, core.AccessRemoteRead, core.ErrAccess},
			{1, b - 1, 0, core.AccessRemoteRead, core.ErrAccess},
			{1, b - 1, 2, core.AccessRemoteRead, core.ErrAccess},
			{1, b, 101, core.AccessRemoteRead, core.ErrAccess},
			{1, b + 50, math.MaxUint64 - 10, core.AccessRemoteRead, core.ErrAccess},
			{1, b + 50, math.MaxUint64 - 49, core.AccessRemoteRead, core.ErrAccess},
			{1, math.MaxUint64, 1, core.AccessRemoteRead, core.ErrAccess},
			{1, math.MaxUint64, math.MaxUint64, core.AccessRemoteRead, core.ErrAccess},
			{1, b + 1<<63, 1 << 63, core.AccessRemoteRead, core.ErrAccess},
			{1, b, 1, core.AccessRemoteWrite, core.ErrAccess},
			{1, b, 1, remote, core.ErrAccess},
			{2, w.Base(), 1, core.AccessRemoteWrite, 0},
			{2, w.Base(), 1, core.AccessRemoteRead, core.ErrAccess},
			{4, b, 1, core.AccessRemoteRead, core.ErrInval},
			{core.KeyNotAvail, b, 1, core.AccessRemoteRead, core.ErrInval},
		} {
			mem, reg, err := m.Verify(c.key, c.addr, c.length, c.access)
			if err != c.want || (err == 0) != (reg != nil) || err == 0 && uint64(len(mem)) != c.length || err != 0 &&
				mem != nil {
				t.Errorf("mode %#x %+v: %d bytes %v", mode, c, len(mem), err)
			}
		}
	}
}

// TestBoundsModel: for any request of a peer, Verify grants exactly what arithmetic without overflow grants.
func TestBoundsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMap(rapid.SampledFrom([]core.MRMode{0, core.MRModeVirtAddr}).Draw(t, "mode"))
		all := make([]byte, 64)
		from := rapid.IntRange(0, 63).Draw(t, "from")
		to := rapid.IntRange(from+1, 64).Draw(t, "to")
		r, err := m.Reg(&core.MRAttr{IOV: [][]byte{all[from:to]}, Access: core.AccessRemoteWrite, RequestedKey: 1})
		if err != nil {
			t.Fatal(err)
		}
		hostile := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 70),
			rapid.Uint64Range(math.MaxUint64-70, math.MaxUint64))
		addr, length := r.Base()+hostile.Draw(t, "addr"), hostile.Draw(t, "length")
		size := uint64(to - from)
		off := addr - r.Base()
		want := addr >= r.Base() && off <= size && length <= size && off+length <= size
		mem, _, errno := m.Verify(1, addr, length, core.AccessRemoteWrite)
		if (errno == 0) != want {
			t.Fatal(errno, want)
		}
		for i := range mem {
			mem[i] = 1
		}
		for i, b := range all {
			if inside := want && uint64(i) >= uint64(from)+off &&
				uint64(i) < uint64(from)+off+length; (b == 1) != inside {
				t.Fatal("byte", i, "touched:", b == 1)
			}
		}
	})
}

func TestVerifyLocal(t *testing.T) {
	m := newMap(core.MRModeLocal)
	mem := make([]byte, 100)
	r := reg(t, m, core.MRAttr{IOV: [][]byte{mem[10:90]}, Access: core.AccessSend})
	for _, c := range []struct {
		desc   core.Desc
		buf    []byte
		access core.Access
		want   core.Errno
	}{
		{r.Desc(), mem[10:90], core.AccessSend, 0},
		{r.Desc(), mem[89:90], core.AccessSend, 0},
		{r.Desc(), nil, core.AccessSend, 0},
		{r.Desc(), mem[9:20], core.AccessSend, core.ErrAccess},
		{r.Desc(), mem[80:91], core.AccessSend, core.ErrAccess},
		{r.Desc(), mem[10:20], core.AccessRecv, core.ErrAccess},
		{r.Desc(), make([]byte, 1), core.AccessSend, core.ErrAccess},
		{0, mem[10:20], core.AccessSend, core.ErrInval},
		{r.Desc() + 1, mem[10:20], core.AccessSend, core.ErrInval},
	} {
		if err := m.VerifyLocal(c.desc, c.buf, c.access); err != c.want {
			t.Errorf("%d bytes: %v, want %v", len(c.buf), err, c.want)
		}
	}
}

type counter struct {
	core.CounterDriver
	refs int
}

func (c *counter) Ref()   { c.refs++ }
func (c *counter) Unref() { c.refs-- }

type endpoint struct {
	core.EndpointDriver
	refs int
}

func (e *endpoint) Ref()   { e.refs++ }
func (e *endpoint) Unref() { e.refs-- }

func wantErr(t *testing.T, got error, want core.Errno) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error %v, want %v", got, want)
	}
}

func TestBindCounter(t *testing.T) {
	r := reg(t, newMap(0), core.MRAttr{IOV: [][]byte{{1}}, Access: remote})
	c, d := &counter{}, &counter{}
	wantErr(t, r.Bind(c, core.BindSend), core.ErrBadFlags)
	wantErr(t, r.Bind(c, 0), core.ErrInval)
	wantErr(t, r.Bind(nil, core.BindRemoteRead), core.ErrInval)
	if err := r.Bind(c, core.BindRemoteWrite); err != nil {
		t.Fatal(err)
	}
	wantErr(t, r.Bind(d, core.BindRemoteRead|core.BindRemoteWrite), core.ErrInval)
	if err := r.Bind(d, core.BindRemoteRead); err != nil {
		t.Fatal(err)
	}
	if r.WriteCounter() != core.CounterDriver(c) || r.ReadCounter() != core.CounterDriver(d) || c.refs != 1 ||
		d.refs != 1 {
		t.Error(r.WriteCounter(), r.ReadCounter(), c.refs, d.refs)
	}
	wantErr(t, r.Bind(&endpoint{}, 0), core.ErrNoSys)
	wantErr(t, r.Enable(), core.ErrNoSys)
	r.Close()
	if c.refs != 0 || d.refs != 0 {
		t.Error(c.refs, d.refs)
	}
	wantErr(t, r.Bind(c, core.BindRemoteWrite), core.ErrBadF)
}

func TestEnable(t *testing.T) {
	m := newMap(core.MRModeEndpoint | core.MRModeRMAEvent)
	r := reg(t, m, core.MRAttr{IOV: [][]byte{{1}}, Access: remote, RequestedKey: 4})
	verify := func(want core.Errno) {
		t.Helper()
		if _, _, err := m.Verify(4, 0, 1, core.AccessRemoteRead); err != want {
			t.Error(err, want)
		}
	}
	verify(core.ErrInval)
	if _, err := m.Reg(&core.MRAttr{IOV: [][]byte{{1}}, Access: remote, RequestedKey: 4}); !errors.Is(err,
		core.ErrNoKey) {
		t.Error("the key of a region that is not enabled yet is free:", err)
	}
	wantErr(t, r.Enable(), core.ErrOpBadState)
	wantErr(t, r.Bind(nil, 0), core.ErrInval)
	ep := &endpoint{}
	if err := r.Bind(ep, 0); err != nil {
		t.Fatal(err)
	}
	wantErr(t, r.Bind(ep, 0), core.ErrInval)
	verify(core.ErrInval)
	for range 2 {
		if err := r.Enable(); err != nil {
			t.Fatal(err)
		}
	}
	verify(0)
	wantErr(t, r.Bind(&counter{}, core.BindRemoteWrite), core.ErrOpBadState)
	if r.Endpoint() != core.EndpointDriver(ep) || ep.refs != 1 {
		t.Error(r.Endpoint(), ep.refs)
	}
	r.Close()
	if ep.refs != 0 {
		t.Error(ep.refs)
	}

	m = newMap(core.MRModeRMAEvent)
	r = reg(t, m, core.MRAttr{IOV: [][]byte{{1}}, Access: remote, RequestedKey: 4, Flags: core.MRRMAEvent})
	verify(core.ErrInval)
	if err := r.Enable(); err != nil {
		t.Fatal(err)
	}
	verify(0)
	r.Close()
	reg(t, m, core.MRAttr{IOV: [][]byte{{1}}, Access: remote, RequestedKey: 4}) // usable without Enable, as it has no MRRMAEvent
	verify(0)
}

func TestAllocs(t *testing.T) {
	m := newMap(0)
	for i := range 100 {
		reg(t, m, core.MRAttr{IOV: [][]byte{make([]byte, 64)}, Access: remote, RequestedKey: uint64(i)})
	}
	if n := testing.AllocsPerRun(1000, func() {
		m.Verify(50, 1, 60, core.AccessRemoteRead)
		m.Verify(500, 1, 60, core.AccessRemoteRead)
	}); n != 0 {
		t.Error(n)
	}
}

func BenchmarkVerify(b *testing.B) {
	m := newMap(core.MRModeProvKey)
	keys := make([]uint64, 1024)
	for i := range keys {
		r, err := m.Reg(&core.MRAttr{IOV: [][]byte{make([]byte, 64)}, Access: remote})
		if err != nil {
			b.Fatal(err)
		}
		keys[i] = r.Key()
	}
	b.ReportAllocs()
	for i := range b.N {
		if _, _, err := m.Verify(keys[i&1023], 8, 8, core.AccessRemoteRead); err != 0 {
			b.Fatal(err)
		}
	}
}
