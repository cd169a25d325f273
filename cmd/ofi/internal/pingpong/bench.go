package pingpong

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"gofabric/core"
)

// bench is one end of a test: the open objects and the counts of what was posted and completed.
type bench struct {
	cfg *Config
	ctx context.Context
	ctl *control

	info   *core.Info // of the endpoint
	fabric *core.Fabric
	eq     *core.EventQueue
	pep    *core.PassiveEndpoint
	domain *core.Domain
	ep     *core.Endpoint
	txCQ   *core.CompletionQueue
	rxCQ   *core.CompletionQueue
	av     *core.AddressVector
	mr     *core.MemoryRegion

	tagged         bool
	desc           core.Desc
	peer           core.FIAddr
	txPrefix       int
	rxPrefix       int
	txBuf, rxBuf   []byte // with the prefix; at least as long as a control message
	tx, rx         []byte // their payload, as long as the largest message
	txSeq, rxSeq   uint64 // operations posted
	txDone, rxDone uint64 // operations completed

	acks          int // messages received in this size's run
	filled, check pattern
	entry         [1]core.CQEntry
}

// minBuffer is the size of the smallest receive buffer, in bytes. The last message has 4 bytes for every size under
// test.
const minBuffer = 64

// hints returns the hints of the native tool.
func (b *bench) hints() (*core.Info, error) {
	h, c := core.NewHints(), b.cfg
	h.Caps = core.CapMsg
	if c.Tagged {
		h.Caps = core.CapTagged
	}
	h.Mode = core.ModeContext | core.ModeContext2 | core.ModeMsgPrefix
	h.EP.Type = c.Type
	h.Domain.MRMode = core.MRModeLocal | core.MRModeAllocated | core.MRModeProvKey | core.MRModeVirtAddr
	h.Domain.Name, h.Fabric.Name, h.Fabric.ProvName = c.Domain, c.Fabric, c.Provider
	if c.Type == core.EPTypeDgram && c.Size > 0 {
		h.EP.MaxMsgSize = c.Size
	}
	if c.SrcAddr != "" {
		ctx, cancel := context.WithTimeout(b.ctx, c.Timeout)
		defer cancel()
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", c.SrcAddr)
		if err != nil {
			return nil, fmt.Errorf("source address %q: %w", c.SrcAddr, err)
		}
		h.SrcAddr = core.IPAddr(netip.AddrPortFrom(ips[0], 0))
		h.AddrFormat = h.SrcAddr.Format
	}
	return h, nil
}

// getInfo returns the best match for hints.
func (b *bench) getInfo(h *core.Info) (*core.Info, error) {
	infos, err := b.cfg.GetInfo(h)
	if err == nil && len(infos) == 0 {
		err = core.ErrNoData
	}
	if err != nil {
		prov := cmp.Or(b.cfg.Provider, "any provider")
		return nil, fmt.Errorf("no %v endpoint of %s fits; see what there is with ofi info, and why others do not fit with ofi info --why: %w", h.EP.Type, prov, err)
	}
	info := infos[0].Dup()
	info.Caps &^= core.CapDirectedRecv // receives do not select a source
	info.Rx.Caps &^= core.CapDirectedRecv
	return info, nil
}

// openFabric opens fabric and event queue.
func (b *bench) openFabric(info *core.Info) (err error) {
	if b.fabric, err = b.cfg.OpenFabric(info); err != nil {
		return fmt.Errorf("opening the fabric: %w", err)
	}
	if b.eq, err = b.fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec}); err != nil {
		return fmt.Errorf("opening the event queue: %w", err)
	}
	return nil
}

// openEndpoint opens everything that b.info's endpoint needs, binds it together, enables it and posts the first
// receive.
func (b *bench) openEndpoint() (err error) {
	if b.domain, err = b.fabric.OpenDomain(b.info); err != nil {
		return fmt.Errorf("opening the domain: %w", err)
	}
	if err := b.allocate(); err != nil {
		return err
	}
	if b.txCQ, err = b.domain.OpenCQ(core.CQAttr{Size: b.info.Tx.Size, Format: core.CQFormatContext, WaitObj: core.WaitNone}); err != nil {
		return fmt.Errorf("opening the transmit completion queue: %w", err)
	}
	if b.rxCQ, err = b.domain.OpenCQ(core.CQAttr{Size: b.info.Rx.Size, Format: core.CQFormatContext, WaitObj: core.WaitNone}); err != nil {
		return fmt.Errorf("opening the receive completion queue: %w", err)
	}
	msg := b.info.EP.Type == core.EPTypeMsg
	if !msg {
		if b.av, err = b.domain.OpenAV(core.AVAttr{Type: b.info.Domain.AVType}); err != nil {
			return fmt.Errorf("opening the address vector: %w", err)
		}
	}
	if b.ep, err = b.domain.OpenEndpoint(b.info); err != nil {
		return fmt.Errorf("opening the endpoint: %w", err)
	}
	if msg {
		err = b.ep.BindEQ(b.eq, 0)
	} else {
		err = b.ep.BindAV(b.av, 0)
	}
	if err == nil {
		err = b.ep.BindCQ(b.txCQ, core.BindTransmit)
	}
	if err == nil {
		err = b.ep.BindCQ(b.rxCQ, core.BindRecv)
	}
	if err != nil {
		return fmt.Errorf("binding the endpoint: %w", err)
	}
	if err := b.ep.Enable(); err != nil {
		return fmt.Errorf("enabling the endpoint: %w", err)
	}
	return b.postRecv()
}

// allocate makes the buffers, and registers them if the provider demands it.
func (b *bench) allocate() error {
	if b.info.Tx.Mode&core.ModeMsgPrefix != 0 {
		b.txPrefix = b.info.EP.MsgPrefixSize
	}
	if b.info.Rx.Mode&core.ModeMsgPrefix != 0 {
		b.rxPrefix = b.info.EP.MsgPrefixSize
	}
	size := bufferSize(b.cfg.Size, b.info.EP.MaxMsgSize)
	if b.cfg.Size > size {
		return fmt.Errorf("-S %d: messages of this endpoint have at most %d bytes", b.cfg.Size, size)
	}
	room := max(size, minBuffer)
	const align = 4096
	rxRoom := (room + b.rxPrefix + align - 1) &^ (align - 1)
	buf := make([]byte, rxRoom+room+b.txPrefix)
	b.rxBuf, b.txBuf = buf[:room+b.rxPrefix:rxRoom], buf[rxRoom:]
	b.rx, b.tx = b.rxBuf[b.rxPrefix:][:size], b.txBuf[b.txPrefix:][:size]
	b.tagged = b.info.Caps&core.CapTagged != 0
	if b.info.Domain.MRMode&core.MRModeLocal == 0 {
		return nil
	}
	mr, err := b.domain.RegMR(&core.MRAttr{IOV: [][]byte{buf}, Access: core.AccessSend | core.AccessRecv, RequestedKey: 0xC0DE})
	if err != nil {
		return fmt.Errorf("registering the buffers: %w", err)
	}
	b.mr, b.desc = mr, mr.Desc()
	return nil
}

// close closes what is open, in the order that libfabric demands, and the control connection.
func (b *bench) close() error {
	var errs []error
	shut := func(what string, open bool, o core.Object) {
		if !open {
			return
		}
		if err := o.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing the %s: %w", what, err))
		}
	}
	shut("endpoint", b.ep != nil, b.ep)
	shut("passive endpoint", b.pep != nil, b.pep)
	shut("receive completion queue", b.rxCQ != nil, b.rxCQ)
	shut("transmit completion queue", b.txCQ != nil, b.txCQ)
	shut("memory region", b.mr != nil, b.mr)
	shut("address vector", b.av != nil, b.av)
	shut("event queue", b.eq != nil, b.eq)
	shut("domain", b.domain != nil, b.domain)
	shut("fabric", b.fabric != nil, b.fabric)
	return errors.Join(append(errs, b.ctl.close())...)
}
