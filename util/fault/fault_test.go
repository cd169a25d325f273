package fault_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gofabric/core"
	"gofabric/fabrictest"
	"gofabric/internal/mono"
	"gofabric/internal/transport/datagram"
	"gofabric/util/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func query(name string, t core.EPType) core.Query {
	h := core.NewHints()
	h.Fabric.ProvName, h.EP.Type = name, t
	return core.Query{Hints: h}
}

// TestGetInfo: the layer appears where the provider string names it, at any height, and nowhere else.
func TestGetInfo(t *testing.T) {
	net := fabrictest.New(t, 2, fabrictest.Config{})
	tests := []struct {
		name string
		t    core.EPType
		want string
	}{
		{"", core.EPTypeUnspec, "mem;ofi_rxd mem"},
		{"mem", core.EPTypeUnspec, "mem;ofi_rxd mem"},
		{"fault", core.EPTypeUnspec, "mem;fault"},
		{"mem;fault", core.EPTypeDgram, "mem;fault"},
		{"mem;fault", core.EPTypeRDM, ""},
		{"mem;fault;ofi_rxd", core.EPTypeRDM, "mem;fault;ofi_rxd"},
		{"mem;fault;fault;ofi_rxd", core.EPTypeRDM, "mem;fault;fault;ofi_rxd"},
		{"mem;ofi_rxd;fault", core.EPTypeUnspec, ""},
		{"fault;mem", core.EPTypeUnspec, "mem;fault"},
	}
	for _, tt := range tests {
		infos, _, err := net.Node(0).GetInfo(query(tt.name, tt.t))
		var got []string
		for _, i := range infos {
			got = append(got, i.Fabric.ProvName)
		}
		if strings.Join(got, " ") != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q %v: %v, %v", tt.name, tt.t, got, err)
		}
	}
	q := query("mem;fault;ofi_rxd", core.EPTypeRDM)
	q.Node, q.Service = "node1", "7471"
	infos, _, err := net.Node(0).GetInfo(q)
	if err != nil {
		t.Fatal(err)
	}
	i := infos[0]
	for _, name := range []string{"mem;fault;ofi_rxd", "mem;fault", "mem"} {
		if i == nil || i.Fabric.ProvName != name || i.DestAddr.IP.String() != "10.0.0.2:7471" ||
			i.SrcAddr.IP.Addr().String() != "10.0.0.1" {
			t.Fatalf("Infos for %s: %v", name, i)
		}
		i = i.Below()
	}
	f, err := net.Node(0).OpenFabric(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	if f.Attr().ProvName != "mem;fault;ofi_rxd" {
		t.Errorf("opened %q", f.Attr().ProvName)
	}
	if _, err := f.OpenPassiveEndpoint(infos[0]); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("a listener: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestBadVariable: an invalid variable is reported at once.
func TestBadVariable(t *testing.T) {
	_, err := fabrictest.Open(1, fabrictest.Config{Params: map[string]string{"FI_FAULT_LOSS": "often"}})
	if err == nil || !strings.Contains(err.Error(), "FI_FAULT_LOSS") {
		t.Errorf("%v", err)
	}
}

// end is a port of "mem;fault" and the datagrams that came to it.
type end struct {
	dom  *core.Domain
	port datagram.Port
	got  []string
}

func (e *end) Received(_ netip.AddrPort, b []byte, seg int) {
	for len(b) > 0 {
		n := min(seg, len(b))
		e.got = append(e.got, fmt.Sprint(mono.Now(), b[:n]))
		b = b[n:]
	}
}
func (e *end) Drained()   {}
func (e *end) Writable()  {}
func (e *end) Lost(error) {}

func open(t *testing.T, n *fabrictest.Node, stack string) *end {
	t.Helper()
	infos, _, err := n.GetInfo(query(stack, core.EPTypeDgram))
	if err != nil {
		t.Fatal(err)
	}
	f, err := n.OpenFabric(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	e := &end{}
	if e.dom, err = f.OpenDomain(infos[0]); err != nil {
		t.Fatal(err)
	}
	if e.port, err = e.dom.Driver().(datagram.Domain).OpenPort(infos[0], e); err != nil {
		t.Fatal(err)
	}
	if f.Close() == nil || e.dom.Close() == nil {
		t.Error("closed though a port is open")
	}
	t.Cleanup(func() {
		e.locked(func() {
			if err := e.port.Close(); err != nil {
				t.Error(err)
			}
			if e.port.Close() == nil || e.port.Send(e.port.Local(), nil, 0) == nil {
				t.Error("a closed port still works")
			}
		})
		if err := errors.Join(e.dom.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *end) locked(f func()) {
	p := e.dom.Driver().(datagram.Domain).Progress()
	p.Lock()
	defer p.Unlock()
	f()
}

func (e *end) send(to *end, seg int, b []byte) {
	e.locked(func() { e.port.Send(to.port.Local(), [][]byte{b}, seg) })
}

// TestPort: the same variables and traffic give the same result, and another seed gives another one. Everything is
// counted, also for closed ports.
func TestPort(t *testing.T) {
	run := func(seed string) (text string, s fault.Stats) {
		synctest.Test(t, func(t *testing.T) {
			net := fabrictest.New(t, 2, fabrictest.Config{Params: map[string]string{"FI_FAULT_SEED": seed, "FI_FAULT_LOSS": "5%", "FI_FAULT_DUP": "5%", "FI_FAULT_REORDER": "5%", "FI_FAULT_CORRUPT": "5%"}})
			a, b := open(t, net.Node(0), "mem;fault"), open(t, net.Node(1), "mem")
			var run []byte
			for i := range 1000 {
				if run = binary.LittleEndian.AppendUint32(run, uint32(i)); i%10 == 9 {
					a.send(b, 4, run)
					run = run[:0]
					time.Sleep(100 * time.Microsecond)
				}
			}
			time.Sleep(time.Second)
			b.locked(func() { text = strings.Join(b.got, "\n") })
			var ok bool
			if s, ok = fault.StatsOf(a.dom.Driver()); !ok {
				t.Error("the layer counts no faults")
			}
			if _, ok := fault.StatsOf(b.dom.Driver()); ok {
				t.Error("faults are counted without the layer")
			}
			if want := int(s.Sent - s.Lost + s.Duplicated); s.Sent != 1000 || len(b.got) != want {
				t.Errorf("%d arrived, %+v", len(b.got), s)
			}
		})
		return text, s
	}
	a, as := run("1")
	b, bs := run("1")
	c, _ := run("2")
	if a != b || as != bs || a == c {
		t.Errorf("seed 1 %+v, again %+v", as, bs)
	}
	for what, n := range map[string]uint64{"lost": as.Lost, "duplicated": as.Duplicated, "reordered": as.Reordered, "corrupted": as.Corrupted} {
		if n < 20 || n > 100 {
			t.Errorf("%d datagrams of 1000 are %s, want about 50", n, what)
		}
	}
}

// TestTimes: delay, line and partition.
func TestTimes(t *testing.T) {
	for name, tt := range map[string]struct {
		env  []string
		want []time.Duration // of arrival; datagrams of 100 bytes are sent together at 0 s, 1 s, 2 s, 3 s
	}{
		"plain":     {nil, []time.Duration{0, 0, 1e9, 1e9, 2e9, 2e9, 3e9, 3e9}},
		"delay":     {[]string{"DELAY", "1500ms"}, []time.Duration{15e8, 15e8, 25e8, 25e8, 35e8, 35e8, 45e8, 45e8}},
		"line":      {[]string{"RATE", "1600"}, []time.Duration{5e8, 1e9, 15e8, 2e9, 25e8, 3e9, 35e8, 4e9}},
		"backlog":   {[]string{"RATE", "100B", "BACKLOG", "150"}, []time.Duration{1e9, 2e9, 3e9, 4e9}},
		"partition": {[]string{"PARTITION", "500ms-1500ms,3s-"}, []time.Duration{0, 0, 2e9, 2e9}},
		"queue":     {[]string{"DELAY", "10s", "QUEUE", "500"}, []time.Duration{10e9, 10e9}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				params := map[string]string{}
				for i := 0; i < len(tt.env); i += 2 {
					params["FI_FAULT_"+tt.env[i]] = tt.env[i+1]
				}
				net := fabrictest.New(t, 2, fabrictest.Config{Params: params})
				a, b := open(t, net.Node(0), "mem;fault"), open(t, net.Node(1), "mem")
				began := mono.Now()
				for range 4 {
					a.send(b, 100, make([]byte, 200))
					time.Sleep(time.Second)
				}
				time.Sleep(time.Minute)
				var got []time.Duration
				b.locked(func() {
					for _, line := range b.got {
						var at mono.Time
						fmt.Sscan(line, &at)
						if len(line) > 100 {
							got = append(got, at.Sub(began))
						}
					}
				})
				if fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("arrived at %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// foreignFabric is a provider whose domains do not implement datagram.Domain.
type foreignFabric struct{ core.FabricDriver }

func (foreignFabric) Close() error                                     { return nil }
func (foreignFabric) OpenDomain(*core.Info) (core.DomainDriver, error) { return foreignDomain{}, nil }

type foreignDomain struct{ core.DomainDriver }

func (foreignDomain) Close() error { return nil }

// TestForeignLower: a provider without ports is refused with an explanation.
func TestForeignLower(t *testing.T) {
	net := fabrictest.New(t, 1, fabrictest.Config{})
	infos, _, err := net.Node(0).GetInfo(query("mem;fault", core.EPTypeDgram))
	if err != nil {
		t.Fatal(err)
	}
	p, err := fault.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.OpenFabricOver(infos[0], foreignFabric{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.OpenDomain(infos[0]); !errors.Is(err, core.ErrNoSys) || !strings.Contains(err.Error(), "datagrams") {
		t.Errorf("%v", err)
	}
	if _, err := p.OpenFabric(infos[0]); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("%v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
