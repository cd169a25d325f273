package av

import "gofabric/core"

// hide records that this process cannot connect to an address (FI_FIREWALL_ADDR, fi_av(3)). Shared vectors do not
// record it.
func (t *Table) hide(fi core.FIAddr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.get(fi); e != nil && t.shared == nil {
		e.hidden = true
	}
}

// Hidden reports whether an address was inserted with InsertFirewallAddr: only the peer can connect.
func (t *Table) Hidden(fi core.FIAddr) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.shared != nil {
		return false
	}
	e := t.get(fi)
	return e != nil && e.hidden
}
