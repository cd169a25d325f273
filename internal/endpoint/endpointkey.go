package endpoint

import (
	"gofabric/core"
	"gofabric/internal/authkey"
)

// takeKey takes the endpoint's key from its address vector, if the key comes from there. Locked.
func (e *Endpoint) takeKey() error {
	a := e.auth
	if a == nil || !a.late || a.taken {
		return nil
	}
	raw, fi := e.av.TakeAuthKey()
	if raw == "" {
		return e.Refuse("fi_enable", NoPeer, core.ErrInval, "insert an authorization key into the address vector first")
	}
	a.Key, a.handle, a.taken = authkey.New([]byte(raw)), fi, true
	return nil
}

// dropKey returns the key to the vector.
func (e *Endpoint) dropKey() {
	if a := e.auth; a != nil && a.taken {
		a.taken = false
		e.av.DropAuthKey()
	}
}

// keyHandle returns the handle of the endpoint's key. Error entries name it as the source of a message whose sender
// is not in the address vector (fi_cq(3)).
func (e *Endpoint) keyHandle() core.FIAddr {
	if e.auth == nil {
		return core.AddrNotAvail
	}
	if e.userIDs {
		return e.av.UserID(e.auth.handle)
	}
	return e.auth.handle
}
