package gofabric

import (
	"time"

	"gofabric/core"
)

// Options of Open, Dial and Listen.

// defaultGrace is how long a call whose context ended waits for its operation to be cancelled.
const defaultGrace = time.Second

// Option adjusts what Open, Dial or Listen ask for.
type Option func(*config)

// config is what the options say. The zero value asks for anything.
type config struct {
	provider  string
	node      string // of the local side
	service   string
	caps      core.Caps
	epType    core.EPType
	threading core.Threading
	progress  core.Progress
	mrMode    core.MRMode
	mrModeSet bool
	hints     *core.Info
	private   []byte
	authKey   []byte
	peers     int
	name      string
	grace     time.Duration
	linger    time.Duration // negative: the provider's
	system    *system
}

func configure(opts []Option) *config {
	c := &config{grace: defaultGrace, linger: -1, system: defaultSystem}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Provider asks for a provider by name, such as "tcp" or "udp;ofi_rxd" (fi_getinfo(3), "prov_name"). Without it the first that fits is taken.
func Provider(name string) Option { return func(c *config) { c.provider = name } }

// Caps asks for capabilities, such as core.CapTagged|core.CapRMA. Without it the endpoint has what the provider offers of messages, tagged messages and
// RMA; connected endpoints have tagged messages only if asked for, since some providers make a detour for them.
func Caps(caps core.Caps) Option { return func(c *config) { c.caps = caps } }

// Type asks for a kind of endpoint. The default is core.EPTypeRDM for Open and core.EPTypeMsg for Dial and Listen.
func Type(t core.EPType) Option { return func(c *config) { c.epType = t } }

// Node is the local address or host name to open the endpoint at; the default is one of the provider's choice.
func Node(node string) Option { return func(c *config) { c.node = node } }

// Service is the local port to open the endpoint at; the default is one of the system's choice.
func Service(service string) Option { return func(c *config) { c.service = service } }

// Threading promises how the application synchronises its calls (fi_domain(3)). The calls of this package may be made concurrently whatever it is.
func Threading(t core.Threading) Option { return func(c *config) { c.threading = t } }

// Progress asks who advances operations while no call of this package is under way (fi_domain(3)). The default is core.ProgressAuto where there is such a
// provider: remote reads and writes are served though the application computes.
func Progress(p core.Progress) Option { return func(c *config) { c.progress = p } }

// MRMode says which modes of memory registration the provider may choose (fi_mr(3)); 0 is offset addressing and keys that this package chooses. The
// default lets the provider choose: what Register returns hides the difference.
func MRMode(m core.MRMode) Option { return func(c *config) { c.mrMode, c.mrModeSet = m, true } }

// Hints gives complete hints (fi_getinfo(3)); they are copied, and the other options are filled in over them.
func Hints(h *core.Info) Option { return func(c *config) { c.hints = h.Dup(); fillAttrs(c.hints) } }

// PrivateData is what the other side gets with a connection request (Dial), at most core.OptCMDataSize bytes, 256 for tcp.
func PrivateData(b []byte) Option { return func(c *config) { c.private = b } }

// AuthKey is the authorization key of the endpoint, 1 to core.MaxAuthKey bytes that are hard to guess: only endpoints with the same key talk to each other
// (fi_endpoint(3), "auth_key"). Datagrams have none.
func AuthKey(key []byte) Option { return func(c *config) { c.authKey = key } }

// Peers is about how many peers will be inserted, a hint.
func Peers(n int) Option { return func(c *config) { c.peers = n } }

// CancelGrace is how long a call whose context ended waits for its operation to be cancelled before it breaks the connection off; see Endpoint. The
// default is one second.
func CancelGrace(d time.Duration) Option { return func(c *config) { c.grace = d } }

// Linger is how long Close waits, at most, until peers have what was sent, whole milliseconds; 0: what cannot be transmitted at once is lost. The default is the
// provider's (FI_TCP_LINGER, FI_OFI_RXM_LINGER, FI_OFI_RXD_LINGER), ten seconds.
func Linger(d time.Duration) Option { return func(c *config) { c.linger = max(d, 0) } }

// Name registers the address of the endpoint, or of a Listener, in the directory of this node's daemon fabricd, so that others find it as fabric://NAME:
// Insert, Dial and GetInfo take that. The registration is kept up as long as the endpoint is open, also when fabricd starts again. Without fabricd Open and Listen
// fail with core.ErrNoData.
func Name(name string) Option { return func(c *config) { c.name = name } }

// anyCaps reports whether no capabilities were asked for.
func (c *config) anyCaps() bool { return c.caps == 0 && (c.hints == nil || c.hints.Caps == 0) }

// query is what to ask of GetInfo. source says that node and service are the local side's.
func (c *config) query(node, service string, source bool) core.Query {
	h := c.hints
	if h == nil {
		h = core.NewHints()
	} else {
		h = h.Dup()
	}
	if c.provider != "" {
		h.Fabric.ProvName = c.provider
	}
	if c.epType != core.EPTypeUnspec {
		h.EP.Type = c.epType
	}
	if c.authKey != nil {
		h.EP.AuthKey = append([]byte(nil), c.authKey...)
	}
	if c.caps != 0 {
		h.Caps = c.caps
	} else if h.Caps == 0 {
		h.Caps = core.CapMsg | core.CapRMA
		if h.EP.Type != core.EPTypeMsg {
			h.Caps |= core.CapTagged
		}
	}
	if h.EP.Type == core.EPTypeMsg && h.Caps&core.CapTagged != 0 && h.EP.RxCtxCnt == 0 {
		h.EP.RxCtxCnt = core.SharedContext // connected endpoints have tagged messages only so (fi_tcp(7))
	}
	if c.threading != core.ThreadUnspec {
		h.Domain.Threading = c.threading
	}
	switch {
	case c.progress != core.ProgressUnspec:
		h.Domain.DataProgress = c.progress
	case h.Domain.DataProgress == core.ProgressUnspec:
		h.Domain.DataProgress = core.ProgressAuto
	}
	switch {
	case c.mrModeSet:
		h.Domain.MRMode = c.mrMode
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
