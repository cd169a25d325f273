package gofabric

import (
	"cmp"
	"time"

	"gofabric/core"
)

// Config has the options of Open, Dial and Listen. The zero value has no requirements: the provider or the system
// chooses every field that is not set. A Config may be used for any number of calls, also at the same time.
type Config struct {
	// Provider is the name of a provider, such as "tcp" or "udp;ofi_rxd" (fi_getinfo(3), "prov_name"). Default: the
	// first provider that fulfils the Config.
	Provider string

	// Type is the type of endpoint that Open opens, core.EPTypeRDM or core.EPTypeDgram. Default: core.EPTypeRDM. Dial
	// and Listen always use core.EPTypeMsg.
	Type core.EPType

	// Caps are capabilities, such as core.CapTagged|core.CapRMA (fi_getinfo(3)). Default: messages, tagged messages
	// and RMA, as far as the provider has them. Connected endpoints have tagged messages only if Caps asks for them,
	// because they cost some providers an additional step.
	Caps core.Caps

	// Node is the local address or host name of the endpoint; for Dial it is an IP address. Listen has an argument
	// instead. Default: the provider chooses an address.
	Node string

	// Service is the local port of the endpoint that Open opens, as a number or a name. Default: the system chooses a
	// port.
	Service string

	// Name is a name for the address of the endpoint or Listener in the directory of this node's daemon fabricd.
	// Peers find it as fabric://NAME in Insert, Dial and GetInfo. The name stays registered while the endpoint is
	// open, even if fabricd restarts. Without fabricd Open and Listen fail with core.ErrNoData. In a program that
	// imports neither gofabric/fabricd nor gofabric/all they fail with core.ErrNoSys. Default: no name.
	Name string

	// Peers is the expected number of peers. It is a hint.
	Peers int

	// PrivateData goes to the other side with the connection request of Dial, or with the answer of Listener.Accept.
	// It has at most core.OptCMDataSize bytes, which is 256 for tcp. It is not copied.
	PrivateData []byte

	// AuthKey is the authorization key of the endpoint, 1 to core.MaxAuthKey bytes that are hard to guess
	// (fi_endpoint(3), "auth_key"). Only endpoints with the same key communicate. Datagram endpoints have no keys.
	// Default: no key.
	AuthKey []byte

	// Threading is the application's promise how it synchronizes its calls to core (fi_domain(3)). Calls of this
	// package may always be concurrent.
	Threading core.Threading

	// Progress is the progress mode (fi_domain(3)): how operations advance while no call of this package is in
	// progress. Default: core.ProgressAuto if a provider has it, so that peers can read and write memory while the
	// application computes.
	Progress core.Progress

	// MRMode has the modes of memory registration that the provider may choose (fi_mr(3)). Default: the provider
	// chooses, and the result of Register hides the difference. core.MRModeScalable selects offsets as addresses, and
	// keys that this package chooses.
	MRMode core.MRMode

	// CancelGrace is how long a call whose context has ended waits for its operation before it breaks the connection;
	// see Endpoint. Default: one second. Negative: it does not wait.
	CancelGrace time.Duration

	// Linger is the longest time, in whole milliseconds, that Close waits until peers have received the sent
	// messages. Default: the provider's (FI_TCP_LINGER, FI_OFI_RXM_LINGER, FI_OFI_RXD_LINGER), ten seconds. Negative:
	// Close does not wait, and messages that cannot be transmitted at once are lost.
	Linger time.Duration

	// Hints are complete hints for fi_getinfo(3). The other fields of the Config override them. They are copied.
	Hints *core.Info

	system *system // for tests; nil: this machine with all providers
}

// config is a Config with its defaults.
type config struct {
	Config
	grace  time.Duration
	linger time.Duration // negative: the provider's time
}

// defaultGrace is how long a call whose context ended waits for its operation to be cancelled.
const defaultGrace = time.Second

// configure sets the defaults.
func configure(cfg Config) *config {
	c := &config{Config: cfg, grace: max(cfg.CancelGrace, 0), linger: max(cfg.Linger, 0)}
	if cfg.CancelGrace == 0 {
		c.grace = defaultGrace
	}
	if cfg.Linger == 0 {
		c.linger = -1
	}
	c.system = cmp.Or(c.system, defaultSystem)
	if c.Hints != nil {
		c.Hints = c.Hints.Dup()
		fillAttrs(c.Hints)
	}
	return c
}

// anyCaps reports whether the Config asks for no capabilities.
func (c *config) anyCaps() bool { return c.Caps == 0 && (c.Hints == nil || c.Hints.Caps == 0) }

// query returns a query for GetInfo. With source, node and service are those of the local side.
func (c *config) query(node, service string, source bool) core.Query {
	h := c.Hints
	if h == nil {
		h = core.NewHints()
	} else {
		h = h.Dup()
	}
	if c.Provider != "" {
		h.Fabric.ProvName = c.Provider
	}
	if c.Type != core.EPTypeUnspec {
		h.EP.Type = c.Type
	}
	if c.AuthKey != nil {
		h.EP.AuthKey = append([]byte(nil), c.AuthKey...)
	}
	if c.Caps != 0 {
		h.Caps = c.Caps
	} else if h.Caps == 0 {
		h.Caps = core.CapMsg | core.CapRMA
		if h.EP.Type != core.EPTypeMsg {
			h.Caps |= core.CapTagged
		}
	}
	if h.EP.Type == core.EPTypeMsg && h.Caps&core.CapTagged != 0 && h.EP.RxCtxCnt == 0 {
		// Connected endpoints have tagged messages only with a shared receive context (fi_tcp(7)).
		h.EP.RxCtxCnt = core.SharedContext
	}
	if c.Threading != core.ThreadUnspec {
		h.Domain.Threading = c.Threading
	}
	switch {
	case c.Progress != core.ProgressUnspec:
		h.Domain.DataProgress = c.Progress
	case h.Domain.DataProgress == core.ProgressUnspec:
		h.Domain.DataProgress = core.ProgressAuto
	}
	switch {
	case c.MRMode == core.MRModeScalable:
		h.Domain.MRMode = 0
	case c.MRMode != 0:
		h.Domain.MRMode = c.MRMode
	case h.Domain.MRMode == 0:
		h.Domain.MRMode = core.MRModeVirtAddr | core.MRModeAllocated | core.MRModeProvKey
	}
	h.Mode |= core.ModeContext | core.ModeContext2
	q := core.Query{Node: node, Service: service, Hints: h}
	if source && (node != "" || service != "") {
		q.Flags = core.InfoSource
	}
	return q
}

// fillAttrs adds the attributes that the hints lack.
func fillAttrs(h *core.Info) {
	e := core.NewHints()
	h.Tx = cmp.Or(h.Tx, e.Tx)
	h.Rx = cmp.Or(h.Rx, e.Rx)
	h.EP = cmp.Or(h.EP, e.EP)
	h.Domain = cmp.Or(h.Domain, e.Domain)
	h.Fabric = cmp.Or(h.Fabric, e.Fabric)
}
