package layer_test

import (
	"errors"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/fabrictest"
	"gofabric/internal/endpoint"
	"gofabric/internal/layer"
	"gofabric/internal/params"
	"gofabric/internal/transport/datagram"
	"gofabric/internal/transport/stream"
)

func infoOf(t *testing.T) *core.Info {
	t.Helper()
	return infoOn(t, fabrictest.New(t, 1, fabrictest.Config{}).Node(0))
}

// infoOn is an Info of the stack udp;ofi_rxd in this process. The layers under test open its Below.
func infoOn(t *testing.T, node *fabrictest.Node) *core.Info {
	t.Helper()
	h := core.NewHints()
	h.Fabric.ProvName, h.EP.Type = "mem;ofi_rxd", core.EPTypeRDM
	infos, _, err := node.GetInfo(core.Query{Hints: h})
	if err != nil {
		t.Fatal(err)
	}
	return infos[0]
}

// lower is a fabric and its only domain.
type lower struct {
	core.FabricDriver
	opened *core.Info
	open   bool
	closed int
}

func (l *lower) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	l.opened, l.open = info, true
	return lowerDomain{l: l}, nil
}

func (l *lower) Close() error {
	l.closed++
	return nil
}

// lowerDomain is a domain that no layer can use.
type lowerDomain struct {
	core.DomainDriver
	l *lower
}

func (d lowerDomain) Close() error {
	d.l.open = false
	return nil
}

func wants(t *testing.T, what string, err error, want core.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestWrongBelow: a layer over an unsuitable domain fails with an explanation, and leaves nothing open.
func TestWrongBelow(t *testing.T) {
	info := infoOf(t)
	for kind, word := range map[core.EPType]string{core.EPTypeMsg: "connections", core.EPTypeDgram: "datagrams"} {
		low := &lower{}
		b := layer.NewBase("ofi_x", kind, "y;ofi_x", nil, nil)
		f := layer.NewFabric(&b, info, low, nil, func(f *layer.Fabric, info *core.Info) (core.DomainDriver, error) {
			if kind == core.EPTypeMsg {
				return nil, (&layer.RDMDomain[stream.Domain]{}).Open(f, info, layer.RDM{})
			}
			return nil, (&layer.DomainOver[datagram.Domain]{}).Open(f, info)
		})
		for _, bad := range []*core.Info{nil, {}, info.Below()} {
			_, err := f.OpenDomain(bad)
			wants(t, "an Info of the caller's making", err, core.ErrInval)
		}
		_, err := f.OpenDomain(info)
		if wants(t, "OpenDomain", err, core.ErrNoSys); !strings.Contains(err.Error(),
			"ofi_x stands on providers of "+word) {
			t.Errorf("%v", err)
		}
		if low.opened == nil || low.open {
			t.Error("the domain below was left open")
		}
		if err := f.Close(); err != nil || low.closed != 1 {
			t.Errorf("Close: %v, the fabric below was closed %d times", err, low.closed)
		}
		_, err = f.OpenPassiveEndpoint(nil, nil)
		wants(t, "OpenPassiveEndpoint", err, core.ErrNoSys)
		_, err = b.OpenFabric(info)
		if wants(t, "OpenFabric", err, core.ErrNoSys); !strings.Contains(err.Error(), "y;ofi_x") {
			t.Errorf("%v", err)
		}
	}
}

// TestProgressBelow: the domain below gets the progress mode of the layer's Info, or automatic progress if the
// layer asks for it.
func TestProgressBelow(t *testing.T) {
	info := infoOf(t)
	info.Domain.DataProgress, info.Domain.ControlProgress = core.ProgressManual, core.ProgressManual
	for auto, want := range map[bool]core.Progress{false: core.ProgressManual, true: core.ProgressAuto} {
		low := &lower{}
		b := layer.NewBase("ofi_x", core.EPTypeMsg, "", nil, nil)
		layer.NewFabric(&b, info, low, nil, func(f *layer.Fabric, info *core.Info) (core.DomainDriver, error) {
			return nil, (&layer.RDMDomain[stream.Domain]{}).Open(f, info, layer.RDM{AutoProgress: auto})
		}).OpenDomain(info)
		if d := low.opened.Domain; d.DataProgress != want || d.ControlProgress != want {
			t.Errorf("auto %v: data %v, control %v", auto, d.DataProgress, d.ControlProgress)
		}
	}
	info.Domain.AuthKeySize, info.Domain.AuthKey = core.AVAuthKey, []byte("k")
	b := layer.NewBase("ofi_x", core.EPTypeMsg, "", nil, nil)
	_, err := layer.NewFabric(&b, info, &lower{}, nil, func(f *layer.Fabric, info *core.Info) (core.DomainDriver, error) {
		return nil, (&layer.RDMDomain[stream.Domain]{}).Open(f, info, layer.RDM{})
	}).OpenDomain(info)
	wants(t, "two places of the key", err, core.ErrInval)
}

// TestOver opens a domain over datagrams of this process, and closes both.
func TestOver(t *testing.T) {
	node := fabrictest.New(t, 1, fabrictest.Config{}).Node(0)
	info := infoOn(t, node)
	low, err := node.OpenFabric(info.Below())
	if err != nil {
		t.Fatal(err)
	}
	wanted := errors.New("not now")
	d := &layer.RDMDomain[datagram.Domain]{}
	b := layer.NewBase("ofi_x", core.EPTypeDgram, "mem;ofi_x", nil, nil)
	f := layer.NewFabric(&b, info, low.Driver(), nil, func(f *layer.Fabric, info *core.Info) (core.DomainDriver, error) {
		return d, d.Open(f, info, layer.RDM{Open: func(*core.Info) (endpoint.Base, error) { return nil, wanted }})
	})
	if _, err := f.OpenDomain(info); err != nil {
		t.Fatal(err)
	}
	if d.Below() != core.DomainDriver(d.Lower) || d.Progress() != d.Lower.Progress() {
		t.Error("the layer's domain has its own lock")
	}
	_, err = d.OpenEndpoint(info.Below(), nil)
	wants(t, "an endpoint of the kind below", err, core.ErrInval)
	if ep, err := d.OpenEndpoint(info, nil); ep != nil || err != wanted {
		t.Errorf("OpenEndpoint: %v, %v", ep, err)
	}
	if ep, err := d.OpenScalable(info, nil); ep != nil || err != wanted {
		t.Errorf("OpenScalable: %v, %v", ep, err)
	}
	wants(t, "closing the fabric first", f.Close(), core.ErrBusy)
	if err := errors.Join(d.Close(), f.Close()); err != nil {
		t.Error(err)
	}
}

// TestHintsBelow: hints for the provider below have the addresses, reach, threading and progress of the
// application's, and no capabilities that the layer implements itself.
func TestHintsBelow(t *testing.T) {
	if h := layer.HintsBelow(core.CapMsg, nil); h.Caps != core.CapMsg || h.Domain != nil {
		t.Errorf("%+v", h)
	}
	h := layer.HintsBelow(core.CapMsg, &core.Info{Caps: core.CapTagged | core.CapLocalComm,
		AddrFormat: core.FormatSockaddrIn6, Domain: &core.DomainAttr{Name: "x", Threading: core.ThreadDomain,
			DataProgress: core.ProgressManual}})
	if h.Caps != core.CapMsg|core.CapLocalComm || h.AddrFormat != core.FormatSockaddrIn6 || h.Domain.Name != "" ||
		h.Domain.Threading != core.ThreadDomain || h.Domain.DataProgress != core.ProgressManual {
		t.Errorf("%+v, %+v", h, h.Domain)
	}
}

// TestTransfers checks the defaults, and that single copies are used only where they are allowed.
func TestTransfers(t *testing.T) {
	defs := append(layer.TransferParams("ofi_x"),
		core.Param{Provider: "ofi_x", Name: "extensions", Type: core.ParamBool, Default: "1"})
	r := params.Read(nil, "ofi_x", defs)
	s := layer.ReadTransfers(r)
	if err := r.Err(); err != nil || s.Staging != 4096 || s.SingleCopy != 32<<10 || s.UnexpBytes != 256<<20 ||
		s.Rendezvous>>63 == 0 || s.Linger <= 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if c := s.Conn(8, 16<<10, 64, true); c.CMA == nil || c.StageMax != 16<<10 || c.TxDepth != 8 || c.InternalMax != 64 {
		t.Errorf("%+v", c)
	}
	if c := s.Conn(8, 0, 64, false); c.CMA != nil || c.StageMax != 4096 {
		t.Errorf("%+v", c)
	}
	if s.Extensions = false; s.Conn(8, 0, 64, true).CMA != nil {
		t.Error("single copies with native peers")
	}
}
