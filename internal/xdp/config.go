//go:build linux

package xdp

import (
	"fmt"
	"time"
)

// Mode is where the program runs.
type Mode int

const (
	Auto    Mode = iota // Driver, or Generic where the driver cannot
	Driver              // in the driver, before the kernel makes a packet of what came (XDP_FLAGS_DRV_MODE)
	Generic             // in the kernel's own stack: works on every interface (XDP_FLAGS_SKB_MODE)
)

// String is the name that ip(8) gives the mode.
func (m Mode) String() string {
	switch m {
	case Driver:
		return "driver"
	case Generic:
		return "generic"
	}
	return "auto"
}

// ZeroCopy is whether the driver works on the umem itself or the kernel copies.
type ZeroCopy int

const (
	ZeroCopyAuto ZeroCopy = iota // where the driver can
	ZeroCopyOff
	ZeroCopyOnly
)

// Config is how an interface is opened. The zero value of each field is a good choice.
type Config struct {
	Mode     Mode
	ZeroCopy ZeroCopy

	Queues    int // from the first on; packets that come on others go to the kernel's stack. 0: all
	ChunkSize int // bytes, 2048 or 4096. 0: 2048 if a whole packet fits in there

	RxFrames int // chunks of each queue for what comes, a power of two. 0: 4096
	TxFrames int // chunks of each queue for what goes, a power of two. 0: 1024

	// NoMultiBuffer leaves packets that take several frames to the kernel's stack, though the kernel may be able to pass them. In generic mode the program is then always
	// linear (forms.go), and long packets are lost where memory is fragmented, those of other programs too.
	NoMultiBuffer bool

	// NoPacketSocket sends single packets by the rings, as others, and not by a packet socket (see Port.SendPacket).
	NoPacketSocket bool

	MaxPorts int // addresses and ports that may be alive. 0: 16384

	// BusyPoll polls the driver, in driver mode, when Receive finds nothing (SO_PREFER_BUSY_POLL); the time is for calls that wait (SO_BUSY_POLL). Interrupts become fewer
	// only if the interface defers them (its napi_defer_hard_irqs and gro_flush_timeout). 0: off.
	BusyPoll time.Duration
}

const (
	defaultRx    = 4096
	defaultTx    = 1024
	defaultPorts = 16384

	smallChunk = 2048
	largeChunk = 4096 // larger than a page is EINVAL

	// headroom is what the kernel keeps free before a packet (XDP_PACKET_HEADROOM).
	headroom = 256
	// linkMax is the longest link header that we take: Ethernet with two VLAN tags.
	linkMax = etherLen + 2*tagLen
)

// complete fills in what the caller left open, for an interface with so many queues.
func (c Config) complete(queues, mtu int) (Config, error) {
	if c.Queues > queues {
		return c, newError(QueueCount, fmt.Errorf("%d were asked for, it has %d", c.Queues, queues))
	}
	for _, f := range []struct {
		field  *int
		normal int
	}{{&c.Queues, queues}, {&c.RxFrames, defaultRx}, {&c.TxFrames, defaultTx}, {&c.MaxPorts, defaultPorts}} {
		if *f.field == 0 {
			*f.field = f.normal
		}
	}
	if c.ChunkSize == 0 {
		c.ChunkSize = smallChunk
		if mtu+linkMax > smallChunk-headroom {
			c.ChunkSize = largeChunk
		}
	}
	powers := c.RxFrames&(c.RxFrames-1) == 0 && c.TxFrames&(c.TxFrames-1) == 0 && max(c.RxFrames, c.TxFrames) <= 1<<16
	if c.ChunkSize != smallChunk && c.ChunkSize != largeChunk || !powers || min(c.RxFrames, c.TxFrames, c.Queues, c.MaxPorts) < 1 {
		return c, fmt.Errorf("AF_XDP: %+v: chunks have 2048 or 4096 bytes, frames are powers of two up to 65536, nothing is negative", c)
	}
	return c, nil
}
