package endpoint

import (
	"gofabric/core"
	"gofabric/internal/authkey"
	"gofabric/internal/xnet/engine"
)

// MaxEPAuthKey is how many authorization keys an RDM endpoint can have through its address vector: DomainAttr.MaxEPAuthKey of providers.
const MaxEPAuthKey = 1

// Auth is the authorization key of an endpoint, and the memory of its domain as peers with that key may access it: it implements engine.Memory.
type Auth struct {
	engine.Auth
	d      *Domain
	late   bool        // the key is in the vector, and known when the endpoint is enabled
	taken  bool        // from the vector
	handle core.FIAddr // there
}

// Verify implements engine.Memory. Locked.
func (a *Auth) Verify(key, addr, length uint64, write bool) ([]byte, engine.Region, engine.Refusal) {
	return a.d.verify(a.Key.Text(), key, addr, length, write)
}

// CheckDomainKey checks what a domain is to be opened with, where providers have authorization keys (fi_domain(3), auth_key).
func (n *Names) CheckDomainKey(a *core.DomainAttr) error {
	switch {
	case a.AuthKeySize == core.AVAuthKey && len(a.AuthKey) > 0:
		return n.Error("fi_domain", a.Name, NoPeer, core.ErrInval, "with AVAuthKey the key must be nil")
	case len(a.AuthKey) > core.MaxAuthKey:
		return n.Error("fi_domain", a.Name, NoPeer, core.ErrInval, "an authorization key has at most 64 bytes")
	}
	return nil
}

// KeyOf finds the authorization key of an endpoint to be opened with info: its own, the domain's, or one that its vector will have; nil for none.
func (d *Domain) KeyOf(op string, info *core.Info) (*Auth, error) {
	no := func(hint string) (*Auth, error) {
		return nil, d.cfg.Names.Error(op, d.Name(), NoPeer, core.ErrInval, hint)
	}
	a := &Auth{d: d, handle: core.AddrNotAvail, Auth: *NewAuth(nil)}
	raw := info.EP.AuthKey
	if d.info.Domain.AuthKeySize == core.AVAuthKey {
		if len(raw) > 0 {
			return no("in a domain with AVAuthKey, EPAttr.AuthKey must be nil")
		}
		a.late = true
		return a, nil
	}
	if len(raw) == 0 {
		raw = d.info.Domain.AuthKey
	}
	if len(raw) > core.MaxAuthKey {
		return no("an authorization key has at most 64 bytes")
	}
	if a.Key = authkey.New(raw); a.Key == nil {
		return nil, nil
	}
	return a, nil
}

// NewAuth is a key as connections need it.
func NewAuth(k *authkey.Key) *engine.Auth { return &engine.Auth{Key: k, Rand: randomKey} }

// Text is the bytes of the key, "" for none.
func (a *Auth) Text() string {
	if a == nil {
		return ""
	}
	return a.Key.Text()
}

// EngineAuth is the key as connections need it, nil for none.
func (a *Auth) EngineAuth() *engine.Auth {
	if a == nil {
		return nil
	}
	return &a.Auth
}

// takeKey takes the endpoint's key from its vector, if it is to have it from there. Locked.
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

// dropKey gives it back.
func (e *Endpoint) dropKey() {
	if a := e.auth; a != nil && a.taken {
		a.taken = false
		e.av.DropAuthKey()
	}
}

// keyHandle is what errors name as the source of what a peer sent that is not in the vector: the handle of the key that it has (fi_cq(3)).
func (e *Endpoint) keyHandle() core.FIAddr {
	if e.auth == nil {
		return core.AddrNotAvail
	}
	if e.userIDs {
		return e.av.UserID(e.auth.handle)
	}
	return e.auth.handle
}

// regionKey returns attr with the authorization key that the region is to have (fi_mr(3), auth_key).
func (d *Domain) regionKey(attr *core.MRAttr, av core.AVDriver) (*core.MRAttr, error) {
	no := func(hint string) (*core.MRAttr, error) {
		return nil, d.cfg.Names.Error("fi_mr_regattr", d.Name(), NoPeer, core.ErrInval, hint)
	}
	inVectors, key := d.info.Domain.AuthKeySize == core.AVAuthKey, d.info.Domain.AuthKey
	switch {
	case attr == nil:
		return attr, nil
	case inVectors:
		v, ok := av.(*AddressVector)
		if !ok || v.d != d || len(attr.AuthKey) > 0 {
			return no("in a domain with AVAuthKey, AuthAV must be a vector of the domain and AuthKey nil")
		}
		raw, _ := v.TakeAuthKey()
		if raw == "" {
			return no("insert an authorization key into the address vector first")
		}
		v.DropAuthKey()
		key = []byte(raw)
	case av != nil:
		return no("AuthAV is for domains with AVAuthKey")
	case len(attr.AuthKey) > 0 || len(key) == 0:
		return attr, nil
	}
	own := *attr
	own.AuthKey = key
	return &own, nil
}
