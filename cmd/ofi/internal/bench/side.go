package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gofabric"
	"gofabric/core"
)

// This file has one end of a measurement.

// GetInfo and OpenFabric are those of the root package, or of a test.
type (
	GetInfo    func(core.Query) ([]*core.Info, []core.Refusal, error)
	OpenFabric func(*core.Info) (*core.Fabric, error)
)

// Providers gives access to endpoints.
type Providers struct {
	GetInfo    GetInfo
	OpenFabric OpenFabric
	// Node is the address of this process's endpoints. "" is the address of both ends without a Veth.
	Node string
}

// node is the address of both ends without a Veth.
const node = "127.0.0.1"

// at returns the address of this process' endpoints.
func (p Providers) at() string { return cmp.Or(p.Node, node) }

// defaultQueue is the default queue size of native tcp, in operations. Tests that need more ask for it.
const defaultQueue = 256

// connectTimeout bounds the setup of a connection.
const connectTimeout = 10 * time.Second

// side is one end: an endpoint with its queues and buffers.
type side struct {
	prov   Providers
	stack  Stack
	info   *core.Info
	fabric *core.Fabric
	domain *core.Domain
	eq     *core.EventQueue
	pep    *core.PassiveEndpoint
	av     *core.AddressVector
	txq    *core.CompletionQueue
	rxq    *core.CompletionQueue
	ep     *core.Endpoint
	peer   core.FIAddr
	inject int // largest message, in bytes, that Inject sends
	team   *team

	mem    []byte // first half: data to send; second half: received data
	mr     *core.MemoryRegion
	desc   core.Desc
	remote remote

	stop    atomic.Bool // ends loops
	polls   uint
	taken   uint64    // completions
	seen    uint64    // of them, when they were last looked at
	seenAt  time.Time // and when that changed
	entries [64]core.CQEntry
}

// remote is memory of the other side.
type remote struct {
	Base uint64 `json:"base"`
	Key  uint64 `json:"key"`
}

// hints returns the hints for the tests. window is the largest number of posted operations.
func (s Stack) hints(window int, more core.Caps) *core.Info {
	h := core.NewHints()
	h.Fabric.ProvName = s.Provider
	h.EP.Type = s.Type
	switch s.Type {
	case core.EPTypeDgram:
		h.Caps = core.CapMsg
	case core.EPTypeMsg:
		h.Caps = core.CapMsg | core.CapRMA
	default:
		h.Caps = core.CapMsg | core.CapRMA | core.CapTagged
	}
	h.Caps |= more
	if window > defaultQueue {
		h.Tx.Size, h.Rx.Size = window, window
	}
	h.Mode = core.ModeContext | core.ModeContext2
	h.Domain.Threading = core.ThreadDomain
	h.Domain.MRMode = core.MRModeVirtAddr | core.MRModeAllocated | core.MRModeProvKey | core.MRModeLocal
	return h
}

// Check returns the reason why a stack cannot be measured.
func (s Stack) Check(getInfo GetInfo) error {
	_, _, err := getInfo(core.Query{Node: node, Flags: core.InfoSource, Hints: s.hints(0, 0)})
	return err
}

// newSide opens everything up to the domain and, for a connectionless stack, the endpoint.
func newSide(p Providers, stack Stack, window int, more core.Caps) (*side, error) {
	s := &side{prov: p, stack: stack, peer: core.AddrUnspec}
	infos, _, err := p.GetInfo(core.Query{Node: p.at(), Flags: core.InfoSource, Hints: stack.hints(window, more)})
	if err != nil {
		return nil, err
	}
	if err := s.open(infos[0]); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *side) open(info *core.Info) error {
	s.info = info
	var err error
	if s.fabric, err = s.prov.OpenFabric(info); err != nil {
		return err
	}
	if s.domain, err = s.fabric.OpenDomain(info); err != nil {
		return err
	}
	if s.stack.Type == core.EPTypeMsg || info.Caps&core.CapCollective != 0 {
		if s.eq, err = s.fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec}); err != nil || s.stack.Type == core.EPTypeMsg {
			return err
		}
	}
	if s.av, err = s.domain.OpenAV(core.AVAttr{Type: core.AVTable, Count: 1}); err != nil {
		return err
	}
	return s.openEP(info)
}

// openEP opens and enables the endpoint.
func (s *side) openEP(info *core.Info) error {
	var err error
	if s.txq, err = s.domain.OpenCQ(core.CQAttr{Format: core.CQFormatContext}); err != nil {
		return err
	}
	if s.rxq, err = s.domain.OpenCQ(core.CQAttr{Format: core.CQFormatContext}); err != nil {
		return err
	}
	if s.ep, err = s.domain.OpenEndpoint(info); err != nil {
		return err
	}
	if err = s.ep.BindCQ(s.txq, core.BindTransmit); err != nil {
		return err
	}
	if err = s.ep.BindCQ(s.rxq, core.BindRecv); err != nil {
		return err
	}
	if s.av != nil {
		if err = s.ep.BindAV(s.av, 0); err != nil {
			return err
		}
	}
	if s.eq != nil {
		if err = s.ep.BindEQ(s.eq, 0); err != nil {
			return err
		}
	}
	s.inject = info.Tx.InjectSize
	return s.ep.Enable()
}

// listen starts to listen (MSG) and returns the address for the other side.
func (s *side) listen() (core.Addr, error) {
	if s.stack.Type != core.EPTypeMsg {
		return s.ep.Name()
	}
	var err error
	if s.pep, err = s.fabric.OpenPassiveEndpoint(s.info); err != nil {
		return core.Addr{}, err
	}
	if err = s.pep.BindEQ(s.eq, 0); err != nil {
		return core.Addr{}, err
	}
	if err = s.pep.Listen(); err != nil {
		return core.Addr{}, err
	}
	return s.pep.Name()
}

// join connects to the address of the other side, or inserts it into the vector.
func (s *side) join(addr core.Addr) error {
	if s.stack.Type != core.EPTypeMsg {
		fi := [1]core.FIAddr{}
		if n, err := s.av.Insert([]core.Addr{addr}, fi[:], 0); err != nil || n != 1 {
			return fmt.Errorf("address %s was not accepted: %w", addr, errors.Join(err, core.ErrInval))
		}
		s.peer = fi[0]
		return nil
	}
	if err := s.openEP(s.info); err != nil {
		return err
	}
	if err := s.ep.Connect(addr, nil); err != nil {
		return err
	}
	_, err := s.event(core.EventConnected)
	return err
}

// accept waits for the other side's connection (MSG).
func (s *side) accept() error {
	ev, err := s.event(core.EventConnReq)
	if err != nil {
		return err
	}
	if err = s.openEP(ev.Info); err != nil {
		return err
	}
	if err = s.ep.Accept(nil); err != nil {
		return err
	}
	_, err = s.event(core.EventConnected)
	return err
}

func (s *side) event(want core.EQEventType) (core.EQEvent, error) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	var ev core.EQEvent
	err := s.eq.SRead(ctx, &ev, 0)
	if err == core.ErrAvail {
		var bad core.EQErrEntry
		s.eq.ReadErr(&bad, 0)
		return ev, fmt.Errorf("%w %s", bad.Err, bad.Detail)
	}
	if err == nil && ev.Type != want {
		err = fmt.Errorf("unexpected event %d", ev.Type)
	}
	return ev, err
}

// prepare allocates memory for a test and registers it for remote access.
func (s *side) prepare(t Test) (remote, error) {
	n := 2 * max(t.Window, 1) * max(t.Size, syncSize)
	if n > len(s.mem) {
		s.mem = make([]byte, n)
		for i := range s.mem { // touch every page before the measurement
			s.mem[i] = byte(i)
		}
	}
	if s.mr != nil {
		if err := s.mr.Close(); err != nil {
			return remote{}, err
		}
		s.mr = nil
	}
	var err error
	s.mr, err = s.domain.RegMR(&core.MRAttr{IOV: [][]byte{s.mem[:n]}, RequestedKey: 0x600f,
		Access: core.AccessSend | core.AccessRecv | core.AccessRead | core.AccessWrite | core.AccessRemoteRead | core.AccessRemoteWrite})
	if err != nil {
		return remote{}, err
	}
	s.desc = s.mr.Desc()
	return remote{s.mr.Base(), s.mr.Key()}, nil
}

func (s *side) close() {
	var objs []core.Object
	if s.team != nil {
		objs = append(objs, s.team.group, s.team.set)
	}
	gofabric.CloseAll(append(objs, s.ep, s.mr, s.pep, s.eq, s.av, s.txq, s.rxq, s.domain, s.fabric)...)
}
