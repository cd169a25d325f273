package av

import "gofabric/core"

// hide notes that nobody can connect to an address (FI_FIREWALL_ADDR, fi_av(3)). Vectors that processes share do not remember it.
func (t *Table) hide(fi core.FIAddr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.get(fi); e != nil && t.shared == nil {
		e.hidden = true
	}
}

// Hidden reports whether an address was inserted with CapFirewallAddr: only a connection from there reaches it.
func (t *Table) Hidden(fi core.FIAddr) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.shared != nil {
		return false
	}
	e := t.get(fi)
	return e != nil && e.hidden
}
