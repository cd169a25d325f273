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

// Transfers are the settings that all layers with RDM endpoints share: how messages are transferred, and how many
// unexpected ones are kept.
type Transfers struct {
	Extensions bool          // protocol extensions between gofabric peers
	Staging    int           // the longest message that is copied and coalesced, bytes
	UnexpBytes uint64        // memory for unexpected messages, bytes
	Rendezvous uint64        // tagged messages longer than this many bytes wait at the sender
	SingleCopy int           // messages of at least this many bytes are single copies; core.MaxSize: none
	Linger     time.Duration // longest time that a close waits for delivery
}

// StagingMax is the longest message that is copied, bytes. A chunk holds it with room for others.
const StagingMax = 16 << 10

// stageLimit is the limit of copied bytes that wait on one connection.
const stageLimit = 128 << 10

// TransferParams defines the variables of Transfers. Each layer defines "extensions" itself, because its help text
// differs.
func TransferParams(provider string) []core.Param {
	p := func(name, def, help string) core.Param {
		return core.Param{Provider: provider, Name: name, Type: core.ParamSize, Default: def, Help: help}
	}
	return []core.Param{
		p("staging_size", "4096", "messages up to this many bytes are copied and sent together (at most "+strconv.Itoa(StagingMax)+")"),
		p("unexp_bytes", "268435456", "memory for unexpected messages per endpoint, bytes; one peer can use a quarter of it, and must wait beyond that"),
		p("rendezvous_size", "-1", "tagged messages longer than this many bytes wait at the sender until a receive matches them (-1: never)"),
		p("single_copy_size", "32768", "messages of at least this many bytes are copied directly from the memory of a sender on the same host, if the system allows it (-1: never; never over fault)"),
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

// Conn returns the configuration of an endpoint's connections. txSize is the largest number of operations in
// progress with one peer. Messages up to inject bytes are always copied. internal is the largest number of answers
// that wait for one peer. around allows single copies, whose payload bypasses the provider below.
func (t *Transfers) Conn(txSize, inject, internal int, around bool) *engine.Config {
	c := &engine.Config{StageMax: max(t.Staging, inject), StageLimit: stageLimit, TxDepth: txSize, RendezvousOver: t.Rendezvous, InternalMax: internal}
	if around && t.Extensions && t.SingleCopy < core.MaxSize {
		c.CMA, c.CMAOver = cma.New(), t.SingleCopy
	}
	return c
}
