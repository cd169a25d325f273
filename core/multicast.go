package core

// JoinFlags are the flags of Endpoint.Join and JoinCollective (fi_join, fi_cm(3)).
type JoinFlags uint64

// The flags of joins.
const (
	JoinCollective JoinFlags = 1 << 6  // FI_COLLECTIVE: the collective call; C has one call for both
	JoinRecv       JoinFlags = 1 << 10 // FI_RECV: only receive messages to the group
	JoinSend       JoinFlags = 1 << 11 // FI_SEND: only send to the group
)

// Join makes the endpoint a member of the multicast group at addr (fi_join, fi_cm(3)). It is for DGRAM endpoints
// with CapMulticast; others return ErrNoSys. The endpoint receives datagrams to the group at its own port number.
// flags are JoinSend for a member that only sends, JoinRecv for one that only receives, 0 for both. Sends to the
// group go to addr's port number, by default the endpoint's. EventJoinComplete follows on the endpoint's event
// queue, with the MC and ctx.
func (e *Endpoint) Join(addr Addr, flags JoinFlags, ctx any) (*MC, error) {
	m, ok := e.d.(Multicaster)
	if !ok {
		return nil, ErrNoSys
	}
	mc := &MC{}
	return made(mc, m.Join(addr, flags, ctx, mc.stand))
}

// MC is a membership in a multicast or collective group (struct fid_mc, fi_cm(3)).
type MC struct{ d MCDriver }

// stand sets the membership's driver.
func (m *MC) stand(d MCDriver) *MC {
	m.d = d
	return m
}

// Close leaves the group (fi_close(3)).
func (m *MC) Close() error { return m.d.Close() }

// Addr returns the destination of sends to the group (fi_mc_addr). For a multicast group, calls with flags need
// OpMulticast, too.
func (m *MC) Addr() FIAddr { return m.d.Addr() }
