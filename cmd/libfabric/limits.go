//go:build linux && cgo

package main

import (
	"math"

	"gofabric/core"
)

// Programs may open domains and endpoints with other attributes than fi_getinfo returned (fi_endpoint(3)). An open
// refuses attributes for which fi_getinfo, as hints, would return nothing.

// offersDomain reports whether a provider offers a domain with the attributes of i.
func offersDomain(i *core.Info) error {
	hints := anyMode(&core.FabricAttr{ProvName: i.Fabric.ProvName, APIVersion: i.Fabric.APIVersion})
	hints.Caps, hints.AddrFormat = i.Caps, i.AddrFormat
	said, d := i.Domain, hints.Domain
	d.Threading, d.ControlProgress, d.DataProgress, d.ResourceMgmt = said.Threading, said.ControlProgress, said.DataProgress, said.ResourceMgmt
	d.CQDataSize, d.Caps = said.CQDataSize, said.Caps
	_, err := search(hints)
	return err
}

// offers reports whether the provider offers an endpoint with the attributes of i. An endpoint that needs no more
// than its domain was opened with requires no search.
func (d *domain) offers(i *core.Info) error {
	if within(i, d.info) {
		return nil
	}
	hints := anyMode(&core.FabricAttr{ProvName: i.Fabric.ProvName, APIVersion: i.Fabric.APIVersion})
	ep, tx, rx := *i.EP, *i.Tx, *i.Rx
	ep.AuthKey, ep.AuthKeySize = nil, 0 // checked where they are used
	tx.Mode, rx.Mode = math.MaxUint64, math.MaxUint64
	hints.Caps, hints.AddrFormat, hints.EP, hints.Tx, hints.Rx = i.Caps, i.AddrFormat, &ep, &tx, &rx
	_, err := search(hints)
	return err
}

// within reports whether b has everything that an endpoint of a needs.
func within(a, b *core.Info) bool {
	if b.EP == nil || b.Tx == nil || b.Rx == nil || a.EP.Type != b.EP.Type || a.Caps&^b.Caps != 0 {
		return false
	}
	e, f := a.EP, b.EP
	if e.Protocol != f.Protocol || e.ProtocolVersion > f.ProtocolVersion || e.MaxMsgSize > f.MaxMsgSize || e.TxCtxCnt > f.TxCtxCnt || e.RxCtxCnt > f.RxCtxCnt {
		return false
	}
	t, u := a.Tx, b.Tx
	if t.Caps&^u.Caps != 0 || t.OpFlags&^u.OpFlags != 0 || t.InjectSize > u.InjectSize || t.Size > u.Size || t.IOVLimit > u.IOVLimit || t.RMAIOVLimit > u.RMAIOVLimit {
		return false
	}
	r, s := a.Rx, b.Rx
	return r.Caps&^s.Caps == 0 && r.OpFlags&^s.OpFlags == 0 && r.Size <= s.Size && r.IOVLimit <= s.IOVLimit
}
