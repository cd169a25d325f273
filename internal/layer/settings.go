package layer

import (
	"math"
	"strconv"
	"time"

	"gofabric/core"
	"gofabric/internal/cma"
	"gofabric/internal/endpoint"
	"gofabric/internal/params"
	"gofabric/internal/xnet/engine"
)

// Transfers are the settings that all layers of reliable endpoints have: how messages are transferred, and what is kept of them.
type Transfers struct {
	Extensions bool          // peers of this module are spoken to in ways of their own
	Staging    int           // the longest message that is copied, bytes
	UnexpBytes uint64        // for unexpected messages
	Rendezvous uint64        // tagged messages longer than this wait at the sender
	SingleCopy int           // messages of at least this many bytes are copied once; core.MaxSize: none are
	Linger     time.Duration // how long closing waits
}

// StagingMax is the longest message that is copied, bytes: a chunk holds it with room for others.
const StagingMax = 16 << 10

// stageLimit is how many bytes of copied messages may wait for a connection.
const stageLimit = 128 << 10

// TransferParams defines the variables of Transfers, but for "extensions", of which each layer has its own to say.
func TransferParams(provider string) []core.Param {
	p := func(name, def, help string) core.Param {
		return core.Param{Provider: provider, Name: name, Type: core.ParamSize, Default: def, Help: help}
	}
	return []core.Param{
		p("staging_size", "4096", "messages up to this many bytes are copied and sent together (at most "+strconv.Itoa(StagingMax)+")"),
		p("unexp_bytes", "268435456", "memory for unexpected messages per endpoint, bytes; a quarter of it for any one peer, which waits beyond that"),
		p("rendezvous_size", "-1", "tagged messages longer than this many bytes wait at the sender until a receive matches them (-1: never)"),
		p("single_copy_size", "32768", "messages of at least this many bytes are copied straight out of the memory of a sender on the same host, where the system allows it (-1: never; never over fault)"),
		endpoint.LingerParam(provider),
	}
}

// ReadTransfers reads the variables.
func ReadTransfers(r *params.Reader) Transfers {
	t := Transfers{Extensions: r.Bool("extensions"), Staging: min(r.Size("staging_size", 0, core.MaxSize), StagingMax),
		UnexpBytes: uint64(r.Size("unexp_bytes", 4096, core.MaxSize)), Rendezvous: math.MaxUint64,
		SingleCopy: r.Size("single_copy_size", 0, core.MaxSize), Linger: r.Millis("linger", 0)}
	if v := r.Size("rendezvous_size", 0, core.MaxSize); v < core.MaxSize {
		t.Rendezvous = uint64(v)
	}
	return t
}

// Conn is what the connections of an endpoint need of the settings: it has at most txSize operations under way with a peer, and copies messages of inject bytes.
// internal is how many answers may wait for one peer. around says that payload may go around what is below, in single copies.
func (t *Transfers) Conn(txSize, inject, internal int, around bool) *engine.Config {
	c := &engine.Config{StageMax: max(t.Staging, inject), StageLimit: stageLimit, TxDepth: txSize, RendezvousOver: t.Rendezvous, InternalMax: internal}
	if around && t.Extensions && t.SingleCopy < core.MaxSize {
		c.CMA, c.CMAOver = cma.New(), t.SingleCopy
	}
	return c
}
