package core

// Multicaster is an endpoint that can join multicast groups (fi_cm(3)): a DGRAM endpoint with CapMulticast.
type Multicaster interface {
	// Join makes the endpoint a member of the group at addr (fi_join): datagrams that come to the group at the endpoint's own port number are received
	// like others. flags is Send for a member that only sends, Recv for one that only receives, 0 for both. addr's port number, by default the
	// endpoint's, is where sends to the group go. EventJoinComplete follows on the endpoint's event queue, with the MC and ctx.
	Join(addr Addr, flags Flags, ctx any) (MC, error)
}

// MC is a membership in a multicast group (struct fid_mc, fi_cm(3)). Close leaves the group.
type MC interface {
	Object
	// Addr is the group as a destination (fi_mc_addr); it goes with the flag CapMulticast where flags are given.
	Addr() FIAddr
}
