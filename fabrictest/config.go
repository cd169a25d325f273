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

// Config has the settings of a network. The zero value is a network without faults.
type Config struct {
	// Seed determines when faults happen; 0 is 1.
	Seed uint64

	// Faults are the faults of all links between different nodes, as in Fabric.SetFaults.
	Faults Faults

	// MTU is the size of the largest datagram, in bytes; 0 is 1472.
	MTU int

	// Runs is the number of datagrams in one send of a layer, as with segmentation offload; 0 is 64. A system
	// without offload has 1.
	Runs int

	// Buffer is the size of a port's receive buffer, in bytes; 0 is 4 MiB. Datagrams on their way to the port
	// count, too. Datagrams without room are lost.
	Buffer int

	// Busy is the probability that a port refuses a send for a moment, as a full socket does: at least 0 and less
	// than 1.
	Busy float64

	// Params are the variables, such as FI_OFI_RXD_MAX_PEERS, of all nodes. The process' environment is not used.
	Params map[string]string

	// Providers return further providers or layers, the most preferred first. Each function is called once for
	// every node.
	Providers []func(params *core.Params, host core.Host) ([]core.Provider, error)
}

// fill fills in defaults.
func (c *Config) fill() {
	c.Seed, c.MTU = cmp.Or(c.Seed, 1), cmp.Or(c.MTU, 1472)
	c.Runs, c.Buffer = cmp.Or(c.Runs, 64), cmp.Or(c.Buffer, 4<<20)
	c.Params, c.Providers = maps.Clone(c.Params), slices.Clone(c.Providers)
}

// maxRun is the size of the largest datagram or GSO batch, in bytes (internal/transport/datagram).
const maxRun = 65507

func (c *Config) check() error {
	switch {
	case c.MTU < 64 || c.MTU > maxRun:
		return fmt.Errorf("the largest datagram is %d bytes, outside 64 to %d", c.MTU, maxRun)
	case c.Runs < 1 || c.Buffer < c.MTU:
		return errors.New("the config needs Runs of at least 1, and a Buffer of at least MTU bytes")
	case !(c.Busy >= 0 && c.Busy < 1):
		return fmt.Errorf("the probability of a busy port is %v, not 0 or more and less than 1", c.Busy)
	}
	return c.Faults.check()
}

// Faults are the settings of a Link. The zero value is a link without faults.
type Faults struct {
	Loss    float64 // probability that a datagram is lost, 0 to 1
	Dup     float64 // probability that it arrives twice
	Reorder float64 // probability that one to three later datagrams overtake it, or that it arrives a millisecond late
	Corrupt float64 // probability that one bit of it is flipped

	Delay  time.Duration // on the way
	Jitter time.Duration // additional delay, uniform up to this value and different for each datagram: they overtake each other

	Rate    int64 // of the line, in bits per second of payload; 0: no limit
	Backlog int   // bytes that wait for the line; further datagrams are lost. 0 is 1 MiB
}

func (f Faults) check() error {
	i := impair.Faults(f)
	return i.Check()
}

// Stats counts what happened to the datagrams of a Link.
type Stats struct {
	Sent       uint64 // datagrams that entered the Link
	Lost       uint64 // at random
	Cut        uint64 // lost in a partition
	Duplicated uint64
	Reordered  uint64 // held back
	Corrupted  uint64
	Delayed    uint64
	Overflows  uint64 // lost because the line's backlog or the receiver's buffer was full
}
