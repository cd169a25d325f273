package core

// AVFlags are the flags of AVAttr (fi_av(3)).
type AVFlags uint64

// The flags of vectors.
const (
	AVRead      AVFlags = 1 << 8  // FI_READ: open a shared vector to read it only
	AVEvent     AVFlags = 1 << 24 // FI_EVENT: insertions report to an event queue
	AVUserID    AVFlags = 1 << 41 // FI_AV_USER_ID: completions report identifiers that the caller chose
	AVPeer      AVFlags = 1 << 43 // FI_PEER
	AVSymmetric AVFlags = 1 << 59 // FI_SYMMETRIC: every node has the same number of endpoints, at addresses that count up
)

// InsertFlags are the flags of insertions into vectors and of removals (fi_av(3)).
type InsertFlags uint64

// The flags of insertions.
const (
	InsertMore         InsertFlags = 1 << 18 // FI_MORE: more insertions follow; a hint
	InsertUserID       InsertFlags = 1 << 41 // FI_AV_USER_ID: fi has the identifier of each address, which completions report in place of its index
	InsertFirewallAddr InsertFlags = 1 << 42 // FI_FIREWALL_ADDR: only the peer can connect; until then operations over connections fail with ErrFirewallAddr
	InsertAuthKey      InsertFlags = 1 << 57 // FI_AUTH_KEY: fi has the authorization key of each address; in a removal fi are keys (InsertAuthKey)
	InsertSyncErr      InsertFlags = 1 << 58 // FI_SYNC_ERR: report the error of each address
)

// AVAttr is struct fi_av_attr (fi_av(3)).
type AVAttr struct {
	Type      AVType
	RxCtxBits int // upper bits of an FIAddr that select a receive context of the peer, see RxAddr; at most 8
	Count     int // expected number of addresses; a hint
	EPPerNode int
	Name      string // of a vector that processes of the host share if they open domains of the same name; "": a private vector
	MapAddr   uint64 // of a shared vector; only remembered, because an index has one meaning in all processes
	Flags     AVFlags
}

// AddressVector maps transport addresses to indices, FIAddr (struct fid_av, fi_av(3)). An insertion takes the
// lowest free index. Any number of goroutines may call its methods.
//
// Insertions are synchronous unless the vector was opened with AVEvent. Then they return 0 at once, and report to
// the event queue that BindEQ bound: an error entry for each refused address, with its position in Data, and
// EventAVComplete with the number of inserted addresses. Object is the vector. Context is the one argument that an
// insertion may have after its flags; synchronous insertions ignore it. fi must stay valid until the event.
type AddressVector struct{ d AVDriver }

// driver returns the vector's driver, or nil if v is nil.
func (v *AddressVector) driver() AVDriver {
	if v == nil {
		return nil
	}
	return v.d
}

// Driver returns the provider's side of the vector.
func (v *AddressVector) Driver() AVDriver { return v.d }

// Close frees the vector (fi_close(3)). The error is ErrBusy while an endpoint uses it or a set of it is open.
func (v *AddressVector) Close() error { return v.d.Close() }

// Attr returns the attributes that the vector was opened with. AVAttr.Type is the type that the provider chose.
func (v *AddressVector) Attr() AVAttr { return v.d.Attr() }

// BindEQ binds the event queue for the outcome of insertions, if the vector was opened with AVEvent (fi_av_bind(3)).
// flags must be 0.
func (v *AddressVector) BindEQ(eq *EventQueue, flags BindFlags) error {
	return v.d.BindEQ(eq.driver(), flags)
}

// Insert inserts addresses and returns how many were inserted (fi_av_insert(3)). If fi is not nil, it receives the
// index of each address, AddrNotAvail for a refused one. As in libfabric, a refused address is an error only with
// InsertSyncErr.
func (v *AddressVector) Insert(addrs []Addr, fi []FIAddr, flags InsertFlags, context ...any) (int, error) {
	return v.d.Insert(addrs, fi, flags, context...)
}

// InsertSvc resolves one address and inserts it (fi_av_insertsvc(3)). With InsertUserID, call SetUserID afterwards
// to set its identifier.
func (v *AddressVector) InsertSvc(node, service string, flags InsertFlags, context ...any) (FIAddr, error) {
	return v.d.InsertSvc(node, service, flags, context...)
}

// InsertSym inserts nodecnt times svccnt addresses (fi_av_insertsym(3)). Nodes and services count up from the
// first.
func (v *AddressVector) InsertSym(node string, nodecnt int, service string, svccnt int, fi []FIAddr, flags InsertFlags, context ...any) (int, error) {
	return v.d.InsertSym(node, nodecnt, service, svccnt, fi, flags, context...)
}

// Remove removes addresses (fi_av_remove(3)), or authorization keys with InsertAuthKey.
func (v *AddressVector) Remove(fi []FIAddr, flags InsertFlags) error { return v.d.Remove(fi, flags) }

// Lookup returns the address of an index (fi_av_lookup(3)).
func (v *AddressVector) Lookup(fi FIAddr) (Addr, error) { return v.d.Lookup(fi) }

// SetUserID sets the identifier that completions report as their source in place of fi (fi_av_set_user_id(3)). The
// vector must have been opened with AVUserID.
func (v *AddressVector) SetUserID(fi, id FIAddr, flags InsertFlags) error {
	return v.d.SetUserID(fi, id, flags)
}

// InsertAuthKey inserts an authorization key into a vector of a domain with AVAuthKey (fi_av_insert_auth_key(3)).
// It applies to endpoints that are enabled with the vector afterwards, and to Insert with the flag InsertAuthKey,
// which takes the returned FIAddr in fi. flags must be 0. A vector takes DomainAttr.MaxEPAuthKey keys and refuses
// more with ErrNoSpc. Remove refuses a key with ErrBusy while an endpoint uses it.
func (v *AddressVector) InsertAuthKey(key []byte, flags InsertFlags) (FIAddr, error) {
	return v.d.InsertAuthKey(key, flags)
}

// LookupAuthKey returns the key of an FIAddr that InsertAuthKey returned, or of an address that was inserted with a
// key (fi_av_lookup_auth_key(3)).
func (v *AddressVector) LookupAuthKey(fi FIAddr) ([]byte, error) { return v.d.LookupAuthKey(fi) }

// StrAddr formats an address (fi_av_straddr(3)).
func (v *AddressVector) StrAddr(a Addr) string { return a.String() }

// OpenSet opens a set of the vector's addresses (fi_av_set(3)).
func (v *AddressVector) OpenSet(attr AVSetAttr) (*AVSet, error) {
	d, err := v.d.OpenSet(attr)
	return made(&AVSet{d}, err)
}
