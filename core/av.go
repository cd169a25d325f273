package core

// AVFlags are the flags of AVAttr (fi_av(3)).
type AVFlags uint64

// The flags of vectors.
const (
	AVRead      AVFlags = 1 << 8  // FI_READ: open a shared vector to read it only
	AVEvent     AVFlags = 1 << 24 // FI_EVENT: insertions report to an event queue
	AVUserID    AVFlags = 1 << 41 // FI_AV_USER_ID: completions report identifiers of the caller's
	AVPeer      AVFlags = 1 << 43 // FI_PEER
	AVSymmetric AVFlags = 1 << 59 // FI_SYMMETRIC: every node has the same number of endpoints, at addresses that count up
)

// InsertFlags are the flags of insertions into vectors and of removals (fi_av(3)).
type InsertFlags uint64

// The flags of insertions.
const (
	InsertMore         InsertFlags = 1 << 18 // FI_MORE: more insertions follow; a hint
	InsertUserID       InsertFlags = 1 << 41 // FI_AV_USER_ID: fi brings, for each address, the identifier that completions report in place of its index
	InsertFirewallAddr InsertFlags = 1 << 42 // FI_FIREWALL_ADDR: only the peer can connect; until it has, operations over connections fail with ErrFirewallAddr
	InsertAuthKey      InsertFlags = 1 << 57 // FI_AUTH_KEY: fi brings the authorization key of each address; in a removal, fi are keys (InsertAuthKey)
	InsertSyncErr      InsertFlags = 1 << 58 // FI_SYNC_ERR: report the error of each address
)

// AVAttr is struct fi_av_attr (fi_av(3)).
type AVAttr struct {
	Type      AVType
	RxCtxBits int // upper bits of an FIAddr that name a receive context of the peer, see RxAddr; at most 8
	Count     int // how many addresses to make room for; a hint
	EPPerNode int
	Name      string // of a vector shared by processes of the host that open domains of the same name; "" for a private one
	MapAddr   uint64 // of a shared vector: an index means the same to all who open it, so it is only remembered
	Flags     AVFlags
}

// AddressVector maps transport addresses to FIAddr (fi_av(3)). Lowest free index first. Its methods may be called from any goroutine.
//
// Insertions are synchronous unless the vector was opened with AVEvent. Then they return 0 at once, and their outcome comes to the event queue that
// BindEQ named: an error entry for each refused address, with its position in Data, and an EventAVComplete with the number of inserted ones. Object is the
// vector and Context the one argument that the insertion may have after its flags, which synchronous ones ignore. fi must stay valid until then.
type AddressVector struct{ d AVDriver }

// driver is the vector's driver, nil of no vector.
func (v *AddressVector) driver() AVDriver {
	if v == nil {
		return nil
	}
	return v.d
}

// Driver is what the vector stands on.
func (v *AddressVector) Driver() AVDriver { return v.d }

// Close frees the vector (fi_close(3)); ErrBusy while an endpoint uses it or a set of it is open.
func (v *AddressVector) Close() error { return v.d.Close() }

// Attr returns what the vector was opened with, AVAttr.Type being the type chosen.
func (v *AddressVector) Attr() AVAttr { return v.d.Attr() }

// BindEQ names the queue for the events of a vector opened with AVEvent (fi_av_bind(3)); flags must be 0.
func (v *AddressVector) BindEQ(eq *EventQueue, flags BindFlags) error {
	return v.d.BindEQ(eq.driver(), flags)
}

// Insert adds addresses (fi_av_insert(3)). It returns how many were inserted; fi, unless nil, receives the index of each, AddrNotAvail for a refused one.
// Fewer than asked is no error, as in libfabric, but for insertions with InsertSyncErr.
func (v *AddressVector) Insert(addrs []Addr, fi []FIAddr, flags InsertFlags, context ...any) (int, error) {
	return v.d.Insert(addrs, fi, flags, context...)
}

// InsertSvc resolves and inserts one address (fi_av_insertsvc(3)). The identifier for InsertUserID is set by SetUserID.
func (v *AddressVector) InsertSvc(node, service string, flags InsertFlags, context ...any) (FIAddr, error) {
	return v.d.InsertSvc(node, service, flags, context...)
}

// InsertSym inserts nodecnt times svccnt addresses, counting up the node's and the service's number (fi_av_insertsym(3)).
func (v *AddressVector) InsertSym(node string, nodecnt int, service string, svccnt int, fi []FIAddr, flags InsertFlags, context ...any) (int, error) {
	return v.d.InsertSym(node, nodecnt, service, svccnt, fi, flags, context...)
}

// Remove takes addresses out (fi_av_remove(3)).
func (v *AddressVector) Remove(fi []FIAddr, flags InsertFlags) error { return v.d.Remove(fi, flags) }

// Lookup returns the address of an index (fi_av_lookup(3)).
func (v *AddressVector) Lookup(fi FIAddr) (Addr, error) { return v.d.Lookup(fi) }

// SetUserID sets what completions report as the source in place of fi (fi_av_set_user_id(3)); the vector was opened with AVUserID.
func (v *AddressVector) SetUserID(fi, id FIAddr, flags InsertFlags) error {
	return v.d.SetUserID(fi, id, flags)
}

// InsertAuthKey adds an authorization key to a vector of a domain with AVAuthKey (fi_av_insert_auth_key(3)), for the endpoints that are enabled with the
// vector from then on, and for Insert with InsertAuthKey, to which fi brings what this returns. The flags must be 0. A vector takes
// DomainAttr.MaxEPAuthKey keys, ErrNoSpc beyond; Remove with InsertAuthKey takes one out, ErrBusy while an endpoint uses it.
func (v *AddressVector) InsertAuthKey(key []byte, flags InsertFlags) (FIAddr, error) {
	return v.d.InsertAuthKey(key, flags)
}

// LookupAuthKey returns a key by what InsertAuthKey returned, or by an address inserted under it (fi_av_lookup_auth_key(3)).
func (v *AddressVector) LookupAuthKey(fi FIAddr) ([]byte, error) { return v.d.LookupAuthKey(fi) }

// StrAddr formats an address (fi_av_straddr(3)).
func (v *AddressVector) StrAddr(a Addr) string { return a.String() }

// OpenSet makes a set of addresses of the vector (fi_av_set(3)).
func (v *AddressVector) OpenSet(attr AVSetAttr) (*AVSet, error) {
	d, err := v.d.OpenSet(attr)
	if err != nil {
		return nil, err
	}
	return &AVSet{d}, nil
}
