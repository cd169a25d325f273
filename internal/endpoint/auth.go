package endpoint

import (
	"gofabric/core"
	"gofabric/internal/authkey"
	"gofabric/internal/xnet/engine"
)

// MaxEPAuthKey is the number of authorization keys that an RDM endpoint can take from its address vector. Providers
// report it as DomainAttr.MaxEPAuthKey.
const MaxEPAuthKey = 1

// Auth is the authorization key of an endpoint. It implements engine.Memory: peers with that key access the
// domain's memory through it.
type Auth struct {
	engine.Auth
	d *Domain
	// The key comes from the address vector when the endpoint is enabled (FI_AV_AUTH_KEY, fi_domain(3)).
	late   bool
	taken  bool        // the key was taken from the vector
	handle core.FIAddr // of the key in the vector
}

// Verify implements engine.Memory. Locked.
func (a *Auth) Verify(key, addr, length uint64, write bool) ([]byte, engine.Region, engine.Refusal) {
	return a.d.verify(a.Key.Text(), key, addr, length, write)
}

// CheckDomainKey checks the authorization key in the attributes of a domain that is about to open (fi_domain(3),
// auth_key).
func (n *Names) CheckDomainKey(a *core.DomainAttr) error {
	switch {
	case a.AuthKeySize == core.AVAuthKey && len(a.AuthKey) > 0:
		return n.Error("fi_domain", a.Name, NoPeer, core.ErrInval, "with AVAuthKey the key must be nil")
	case len(a.AuthKey) > core.MaxAuthKey:
		return n.Error("fi_domain", a.Name, NoPeer, core.ErrInval, "an authorization key has at most 64 bytes")
	}
	return nil
}

// KeyOf returns the authorization key for an endpoint that is opened with info: the endpoint's own, the domain's,
// or one that its address vector will supply. It returns nil if there is no key.
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

// NewAuth wraps a key in the form that connections use.
func NewAuth(k *authkey.Key) *engine.Auth { return &engine.Auth{Key: k, Rand: randomKey} }

// Text returns the bytes of the key, "" if there is none.
func (a *Auth) Text() string {
	if a == nil {
		return ""
	}
	return a.Key.Text()
}

// EngineAuth returns the key in the form that connections use, nil if there is none.
func (a *Auth) EngineAuth() *engine.Auth {
	if a == nil {
		return nil
	}
	return &a.Auth
}

// regionKey returns attr with the authorization key for the region (fi_mr(3), auth_key).
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
