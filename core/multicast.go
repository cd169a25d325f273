package core

// JoinFlags are the flags of Endpoint.Join and JoinCollective (fi_join, fi_cm(3)).
type JoinFlags uint64

// The flags of joins.
const (
	JoinCollective JoinFlags = 1 << 6  // FI_COLLECTIVE: what tells the two calls apart in C
	JoinRecv       JoinFlags = 1 << 10 // FI_RECV: only receive what is sent to the group
	JoinSend       JoinFlags = 1 << 11 // FI_SEND: only send to it
)

// Join makes the endpoint a member of the multicast group at addr (fi_join, fi_cm(3)): a DGRAM endpoint with CapMulticast, ErrNoSys of others. Datagrams that
// come to the group at the endpoint's own port number are received like others. flags is JoinSend for a member that only sends, JoinRecv for one that only
// receives, 0 for both. addr's port number, by default the endpoint's, is where sends to the group go. EventJoinComplete follows on the endpoint's event queue, with
// the MC and ctx.
func (e *Endpoint) Join(addr Addr, flags JoinFlags, ctx any) (*MC, error) {
	m, ok := e.d.(Multicaster)
	if !ok {
		return nil, ErrNoSys
	}
	mc := &MC{}
	return made(mc, m.Join(addr, flags, ctx, mc.stand))
}

// made is mc, or what was in its way.
func made(mc *MC, err error) (*MC, error) {
	if err != nil {
		return nil, err
	}
	return mc, nil
}

// MC is a membership in a multicast or collective group (struct fid_mc, fi_cm(3)).
type MC struct{ d MCDriver }

// stand puts the membership on its driver.
func (m *MC) stand(d MCDriver) *MC {
	m.d = d
	return m
}

// Close leaves the group (fi_close(3)).
func (m *MC) Close() error { return m.d.Close() }

// Addr is the group as a destination (fi_mc_addr); with multicast it goes with the flag OpMulticast where flags are given.
func (m *MC) Addr() FIAddr { return m.d.Addr() }
