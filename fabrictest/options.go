package fabrictest

import (
	"errors"
	"fmt"
	"time"

	"gofabric/core"
	"gofabric/internal/impair"
)

// Option is a setting of New and Open.
type Option func(*options)

type options struct {
	seed      uint64
	faults    Faults
	mtu       int
	segments  int
	buffer    int
	busy      float64
	params    map[string]string
	providers []func(*core.Params, core.Host) ([]core.Provider, error)
}

func defaults() options {
	return options{seed: 1, mtu: 1472, segments: 64, buffer: 4 << 20, params: map[string]string{}}
}

// maxRun is the size of the largest datagram or run of datagrams (internal/transport/datagram).
const maxRun = 65507

func (o *options) check() error {
	switch {
	case o.mtu < 64 || o.mtu > maxRun:
		return fmt.Errorf("the largest datagram is %d bytes, outside 64 to %d", o.mtu, maxRun)
	case o.segments < 1 || o.buffer < o.mtu:
		return errors.New("runs have a datagram at least, buffers room for one")
	case !(o.busy >= 0 && o.busy < 1):
		return fmt.Errorf("the probability of a busy port is %v, not 0 or more and less than 1", o.busy)
	}
	return o.faults.check()
}

// WithSeed sets what decides when faults happen; 1 if not given.
func WithSeed(seed uint64) Option { return func(o *options) { o.seed = seed } }

// WithFaults sets the faults of all links between different nodes, as SetFaults does.
func WithFaults(f Faults) Option { return func(o *options) { o.faults = f } }

// WithMTU sets the size of the largest datagram, bytes; 1472 if not given.
func WithMTU(bytes int) Option { return func(o *options) { o.mtu = bytes } }

// WithRuns sets how many datagrams a layer may hand over at once, as systems with segmentation offload allow; 64 if not given, 1 for a system without.
func WithRuns(datagrams int) Option { return func(o *options) { o.segments = datagrams } }

// WithBuffer sets the size of a port's receive buffer, bytes; 4 MiB if not given. It holds what is on its way to the port too. What does not fit is lost.
func WithBuffer(bytes int) Option { return func(o *options) { o.buffer = bytes } }

// WithBusy has ports take no more with the given probability, as a full socket does, for a moment.
func WithBusy(p float64) Option { return func(o *options) { o.busy = p } }

// WithParam sets a variable, such as FI_OFI_RXD_MAX_PEERS, for all nodes. The process's environment is not read.
func WithParam(name, value string) Option { return func(o *options) { o.params[name] = value } }

// WithProviders adds providers or layers to every node, most preferred first: make is called once for each.
func WithProviders(make func(params *core.Params, host core.Host) ([]core.Provider, error)) Option {
	return func(o *options) { o.providers = append(o.providers, make) }
}

// Faults are the settings of a Link. The zero value is a perfect one.
type Faults struct {
	Loss    float64 // probability that a datagram is lost, 0 to 1
	Dup     float64 // probability that it comes twice
	Reorder float64 // probability that one to three later datagrams overtake it, or that it comes a millisecond late
	Corrupt float64 // probability that one bit of it is flipped

	Delay  time.Duration // on the way
	Jitter time.Duration // more delay of up to this much, evenly spread and different for each datagram: they overtake each other

	Rate    int64 // of the line, bits per second of payload; 0: no limit
	Backlog int   // what waits for the line, bytes; more is lost. 0 is 1 MiB
}

func (f Faults) check() error {
	i := impair.Faults(f)
	return i.Check()
}

// Stats counts what happened to the datagrams of a Link.
type Stats struct {
	Sent       uint64 // that the Link was given
	Lost       uint64 // by chance
	Cut        uint64 // lost in a partition
	Duplicated uint64
	Reordered  uint64 // held back
	Corrupted  uint64
	Delayed    uint64
	Overflows  uint64 // lost because the line's backlog or the receiver's buffer was full
}
