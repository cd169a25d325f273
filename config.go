package gofabric

import (
	"time"

	"gofabric/core"
)

// Config is what Open, Dial and Listen are asked for. The zero value asks for anything; a field that is left out is the provider's choice, or the system's.
// It may be used for any number of calls, also at the same time.
type Config struct {
	// Provider is a provider's name, such as "tcp" or "udp;ofi_rxd" (fi_getinfo(3), "prov_name"); "": the first that fits.
	Provider string

	// Type is the kind of endpoint that Open opens: core.EPTypeRDM if it is not said, or core.EPTypeDgram. Dial and Listen have core.EPTypeMsg whatever it is.
	Type core.EPType

	// Caps are capabilities, such as core.CapTagged|core.CapRMA (fi_getinfo(3)). 0 is what the provider has of messages, tagged messages and RMA; connected
	// endpoints have tagged messages only if asked for, since some providers make a detour for them.
	Caps core.Caps

	// Node is the local address or host name to open the endpoint at, for Dial an IP address. Listen takes its address as an argument.
	Node string

	// Service is the local port to open the endpoint at, a number or a name, for Open.
	Service string

	// Name registers the address of the endpoint, or of the Listener, in the directory of this node's daemon fabricd, so that others find it as fabric://NAME:
	// Insert, Dial and GetInfo take that. The registration is kept up as long as the endpoint is open, also when fabricd starts again. Without fabricd Open
	// and Listen fail with core.ErrNoData.
	Name string

	// Peers is about how many peers will be inserted, a hint.
	Peers int

	// PrivateData is what the other side gets with a connection request (Dial), or with the answer (Listener.Accept): at most core.OptCMDataSize bytes, 256
	// for tcp. It is not copied.
	PrivateData []byte

	// AuthKey is the authorization key of the endpoint, 1 to core.MaxAuthKey bytes that are hard to guess: only endpoints with the same key talk to each
	// other (fi_endpoint(3), "auth_key"). Datagrams have none.
	AuthKey []byte

	// Threading promises how the application synchronises its calls (fi_domain(3)). The calls of this package may be made concurrently whatever it is.
	Threading core.Threading

	// Progress says who advances operations while no call of this package is under way (fi_domain(3)). The default is core.ProgressAuto where there is such a
	// provider: remote reads and writes are served though the application computes.
	Progress core.Progress

	// MRMode are the modes of memory registration that the provider may choose from (fi_mr(3)); 0 leaves the choice to it, as what Register returns hides
	// the difference. core.MRModeScalable is offset addressing and keys that this package chooses.
	MRMode core.MRMode

	// CancelGrace is how long a call whose context ended waits for its operation to be cancelled before it breaks the connection off; see Endpoint. 0 is one
	// second, a negative value no time.
	CancelGrace time.Duration

	// Linger is how long Close waits, at most, until peers have what was sent, in whole milliseconds. 0 is the provider's default (FI_TCP_LINGER,
	// FI_OFI_RXM_LINGER, FI_OFI_RXD_LINGER), ten seconds. A negative value is no time: what cannot be transmitted at once is lost.
	Linger time.Duration

	// Hints are complete hints (fi_getinfo(3)), over which the other fields are filled in. They are copied.
	Hints *core.Info

	system *system // tests have their own
}

// config is a Config in use, with defaults filled in.
type config struct {
	Config
	grace  time.Duration
	linger time.Duration // negative: the provider's
}

// defaultGrace is how long a call whose context ended waits for its operation to be cancelled.
const defaultGrace = time.Second

// configure fills in defaults.
func configure(cfg Config) *config {
	c := &config{Config: cfg, grace: max(cfg.CancelGrace, 0), linger: max(cfg.Linger, 0)}
	if cfg.CancelGrace == 0 {
		c.grace = defaultGrace
	}
	if cfg.Linger == 0 {
		c.linger = -1
	}
	if c.system == nil {
		c.system = defaultSystem
	}
	if c.Hints != nil {
		c.Hints = c.Hints.Dup()
		fillAttrs(c.Hints)
	}
	return c
}

// anyCaps reports whether no capabilities were asked for.
func (c *config) anyCaps() bool { return c.Caps == 0 && (c.Hints == nil || c.Hints.Caps == 0) }

// query is what to ask of GetInfo. source says that node and service are the local side's.
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
		h.EP.RxCtxCnt = core.SharedContext // connected endpoints have tagged messages only so (fi_tcp(7))
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

// fillAttrs adds the attributes that hints lack.
func fillAttrs(h *core.Info) {
	e := core.NewHints()
	if h.Tx == nil {
		h.Tx = e.Tx
	}
	if h.Rx == nil {
		h.Rx = e.Rx
	}
	if h.EP == nil {
		h.EP = e.EP
	}
	if h.Domain == nil {
		h.Domain = e.Domain
	}
	if h.Fabric == nil {
		h.Fabric = e.Fabric
	}
}
