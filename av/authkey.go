package av

import (
	"sync"

	"gofabric/core"
)

// This file has the authorization keys of a vector (fi_av(3), fi_av_insert_auth_key).

// keyBase is the handle of the first key. No address has such an index, and the bits above are free for receive
// contexts.
const keyBase core.FIAddr = 1 << 48

// authKeys has the keys of a vector.
type authKeys struct {
	mu   sync.Mutex
	most int // largest number of keys; 0: the vector has none, and addresses are inserted without
	list []authKey
}

// authKey is a key. Its position gives its handle. uses counts its insertions, 0 if the position is free. users
// counts the endpoints that were enabled with it.
type authKey struct {
	raw         string
	uses, users int
}

// UseAuthKeys makes t a vector with at most so many keys. Call it before the first insertion.
func (t *Table) UseAuthKeys(most int) { t.keys.most = most }

// at returns the key of a handle, nil if there is none. Locked.
func (k *authKeys) at(fi core.FIAddr) *authKey {
	if i := fi - keyBase; fi >= keyBase && i < core.FIAddr(len(k.list)) && k.list[i].uses > 0 {
		return &k.list[i]
	}
	return nil
}

// InsertAuthKey adds a key (fi_av_insert_auth_key(3)). A key that is inserted again has the same handle, and must
// be removed as often.
func (t *Table) InsertAuthKey(key []byte, flags core.InsertFlags) (core.FIAddr, error) {
	const op = "fi_av_insert_auth_key"
	k := &t.keys
	switch {
	case flags != 0:
		return core.AddrNotAvail, opError(op, core.ErrBadFlags, "the flags must be 0")
	case k.most == 0:
		return core.AddrNotAvail, opError(op, core.ErrNoSys, "ask GetInfo for a domain with AVAuthKey")
	case len(key) == 0 || len(key) > core.MaxAuthKey:
		return core.AddrNotAvail, opError(op, core.ErrInval, "an authorization key has 1 to 64 bytes")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	free := len(k.list)
	for i := range k.list {
		if e := &k.list[i]; e.uses > 0 && e.raw == string(key) {
			e.uses++
			return keyBase + core.FIAddr(i), nil
		} else if e.uses == 0 {
			free = i
		}
	}
	if free >= k.most {
		return core.AddrNotAvail, opError(op, core.ErrNoSpc, "the address vector already holds as many keys as an endpoint can have (MaxEPAuthKey)")
	}
	if free == len(k.list) {
		k.list = append(k.list, authKey{})
	}
	k.list[free] = authKey{raw: string(key), uses: 1}
	return keyBase + core.FIAddr(free), nil
}

// LookupAuthKey returns a key by its handle, or by an address that was inserted with it (fi_av_lookup_auth_key(3)).
// The error is ErrInval if fi is not in use.
func (t *Table) LookupAuthKey(fi core.FIAddr) ([]byte, error) {
	const op = "fi_av_lookup_auth_key"
	k := &t.keys
	if k.most == 0 {
		return nil, opError(op, core.ErrNoSys, "ask GetInfo for a domain with AVAuthKey")
	}
	if _, ok := t.AddrPort(fi << t.attr.RxCtxBits >> t.attr.RxCtxBits); ok {
		fi = keyBase // all addresses have the only key
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.at(fi); e != nil {
		return []byte(e.raw), nil
	}
	return nil, opError(op, core.ErrInval, "pass the handle of a key, or an address that was inserted under a key")
}

// checkInsertKeys checks the key handles in the fi argument of an insertion.
func (t *Table) checkInsertKeys(op string, count int, fi []core.FIAddr, flags core.InsertFlags) error {
	k := &t.keys
	asked := flags&core.InsertAuthKey != 0
	switch {
	case !asked && k.most == 0:
		return nil
	case !asked:
		return opError(op, core.ErrOpNotSupp, "the domain uses authorization keys: insert each address with the flag InsertAuthKey and the handle of its key")
	case k.most == 0:
		return opError(op, core.ErrBadFlags, "ask GetInfo for a domain with AVAuthKey")
	case flags&core.InsertUserID != 0:
		return opError(op, core.ErrBadFlags, "with InsertAuthKey the argument fi holds keys: set user identifiers with SetUserID")
	case len(fi) < count:
		return opError(op, core.ErrInval, "with InsertAuthKey the argument fi holds the handle of a key for each address")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range fi[:count] {
		if k.at(h) == nil {
			return opError(op, core.ErrInval, "fi holds a value that is not the handle of a key: pass the handles that InsertAuthKey returned")
		}
	}
	return nil
}

// removeKeys removes keys (fi_av_remove(3), FI_AUTH_KEY). If one of them cannot be removed, it still removes the
// others.
func (t *Table) removeKeys(op string, fi []core.FIAddr) error {
	k := &t.keys
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	for _, h := range fi {
		switch e := k.at(h); {
		case e == nil:
			err = opError(op, core.ErrInval, "the value is not the handle of a key")
		case e.users > 0 && e.uses == 1:
			err = opError(op, core.ErrBusy, "an enabled endpoint uses the key: close it first")
		default:
			e.uses--
		}
	}
	return err
}

// TakeAuthKey returns the key for an endpoint that is enabled with the vector, and its handle. The key is "" if the
// vector has none. DropAuthKey ends the use.
func (t *Table) TakeAuthKey() (key string, fi core.FIAddr) {
	k := &t.keys
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.at(keyBase)
	if e == nil {
		return "", core.AddrNotAvail
	}
	e.users++
	return e.raw, keyBase
}

// DropAuthKey ends the use of the key from TakeAuthKey.
func (t *Table) DropAuthKey() {
	t.keys.mu.Lock()
	defer t.keys.mu.Unlock()
	t.keys.list[0].users--
}
