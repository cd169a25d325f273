package engine

// NewReady makes a connection that is up from the start, for transports with a handshake of their own. There is no byte swapping. Set Src, Extended and
// Rendezvous as was agreed with the peer. Sink.Connected is not called.
func NewReady(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) *Conn {
	c := NewWaiting(pool, cfg, rx, mem, sink)
	c.state = Connected
	return c
}

// NewWaiting is NewReady for a peer that is not there yet: what is posted waits until Ready, or fails with Fail or Drop. It has no deadline of its own.
func NewWaiting(pool *Pool, cfg *Config, rx *RxContext, mem Memory, sink Sink) *Conn {
	return &Conn{pool: pool, cfg: cfg, rx: rx, mem: mem, sink: sink, state: Opening, Src: AnySource}
}

// Ready says that the peer of NewWaiting is there: Sink.Connected is told, and what waited is queued.
func (c *Conn) Ready() error {
	if c.state != Opening || c.deadline != 0 {
		return ErrState
	}
	c.state = Requesting
	c.becomeConnected(nil)
	return nil
}

// Reconfigure gives c other limits, when it is known who the peer is.
func (c *Conn) Reconfigure(cfg *Config) { c.cfg = cfg }

// InFlight counts the application's operations that are not complete.
func (c *Conn) InFlight() int { return int(c.ops) }

// Owed reports that the peer has to send something of its own accord: the answer to an operation, or the rest of a message. Its transport must see to it that
// a peer that never does so is noticed.
func (c *Conn) Owed() bool {
	return c.ops > 0 || c.expected > 0 || c.in != nil || len(c.part) > 0 || c.rdv != nil
}

// Awaited reports that something depends on Transmitted being told of what Next has handed out: an operation that completes with it, an answer that the peer may
// give, memory of the application's. If not, what was handed out are copies, and the peer's messages may be told before it.
func (c *Conn) Awaited() bool {
	return c.ops > 0 || c.expected > 0 || c.replies > 0 || c.stall != flowing || c.rdv != nil || c.pul != nil
}

// Idle reports that nothing is under way in either direction, so that an end of the connection would not be noticed: no operation, no byte to transmit or
// half received, no rendezvous, no word that the peer still has to answer, for its answer to an end that has closed would reset the transport with all that is on
// its way, and no message of the peer that still waits for a receive.
func (c *Conn) Idle() bool {
	return c.ops == 0 && c.expected == 0 && c.replies == 0 && c.out.empty() && c.in == nil && len(c.part) == 0 && len(c.held) == 0 &&
		c.stall == flowing && c.unexpCount == 0 && c.rdv == nil && (c.pul == nil || !c.pul.asks) && c.carriage().idle()
}
