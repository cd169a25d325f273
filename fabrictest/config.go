package fabrictest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gofabric/core"
	"gofabric/internal/impair"
)

// Config are the settings of a network. The zero value is a perfect one.
type Config struct {
	// Seed decides when faults happen; 0 is 1.
	Seed uint64

	// Faults are those of all links between different nodes, as Fabric.SetFaults sets them.
	Faults Faults

	// MTU is the size of the largest datagram, bytes; 0 is 1472.
	MTU int

	// Runs is how many datagrams a layer may hand over at once, as systems with segmentation offload allow; 0 is 64, a system without has 1.
	Runs int

	// Buffer is the size of a port's receive buffer, bytes; 0 is 4 MiB. It holds what is on its way to the port too. What does not fit is lost.
	Buffer int

	// Busy is the probability with which a port takes no more for a moment, as a full socket does: 0 or more and less than 1.
	Busy float64

	// Params are variables, such as FI_OFI_RXD_MAX_PEERS, of all nodes. The process's environment is not read.
	Params map[string]string

	// Providers make further providers or layers, most preferred first: each is called once for every node.
	Providers []func(params *core.Params, host core.Host) ([]core.Provider, error)
}

// fill fills in defaults.
func (c *Config) fill() {
	c.Seed, c.MTU = cmp.Or(c.Seed, 1), cmp.Or(c.MTU, 1472)
	c.Runs, c.Buffer = cmp.Or(c.Runs, 64), cmp.Or(c.Buffer, 4<<20)
	c.Params, c.Providers = maps.Clone(c.Params), slices.Clone(c.Providers)
}

// maxRun is the size of the largest datagram or run of datagrams (internal/transport/datagram).
const maxRun = 65507

func (c *Config) check() error {
	switch {
	case c.MTU < 64 || c.MTU > maxRun:
		return fmt.Errorf("the largest datagram is %d bytes, outside 64 to %d", c.MTU, maxRun)
	case c.Runs < 1 || c.Buffer < c.MTU:
		return errors.New("runs have a datagram at least, buffers room for one")
	case !(c.Busy >= 0 && c.Busy < 1):
		return fmt.Errorf("the probability of a busy port is %v, not 0 or more and less than 1", c.Busy)
	}
	return c.Faults.check()
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
