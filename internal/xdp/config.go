//go:build linux

package xdp

import (
	"cmp"
	"fmt"
	"time"
)

// Mode is the place where the program runs.
type Mode int

const (
	Auto    Mode = iota // Driver, or Generic if the driver has no support
	Driver              // in the driver, before the kernel makes an skb (XDP_FLAGS_DRV_MODE)
	Generic             // in the kernel's network stack, on every interface (XDP_FLAGS_SKB_MODE)
)

// String returns ip(8)'s name of the mode.
func (m Mode) String() string {
	switch m {
	case Driver:
		return "driver"
	case Generic:
		return "generic"
	}
	return "auto"
}

// ZeroCopy selects whether the driver uses the umem itself or the kernel copies.
type ZeroCopy int

const (
	ZeroCopyAuto ZeroCopy = iota // if the driver has it
	ZeroCopyOff
	ZeroCopyOnly
)

// Config has the options of an interface. The zero value of each field is a good choice.
type Config struct {
	Mode     Mode
	ZeroCopy ZeroCopy

	Queues    int // the first ones; packets on others go to the kernel's stack. 0: all
	ChunkSize int // bytes, 2048 or 4096. 0: 2048 if a whole packet fits

	RxFrames int // chunks of each queue for receiving, a power of two. 0: 4096
	TxFrames int // chunks of each queue for transmitting, a power of two. 0: 1024

	// NoMultiBuffer leaves packets that need several frames to the kernel's stack, even if the kernel could pass
	// them. In generic mode the program is then always linear (forms.go). If memory is fragmented, long packets are
	// lost then, also those of other programs.
	NoMultiBuffer bool

	// NoPacketSocket sends single packets through the rings, like others, and not through a packet socket (see
	// Port.SendPacket).
	NoPacketSocket bool

	MaxPorts int // live addresses and ports. 0: 16384

	// BusyPoll polls the driver, in driver mode, when Receive finds nothing (SO_PREFER_BUSY_POLL). The time is for
	// calls that wait (SO_BUSY_POLL). There are fewer interrupts only if the interface defers them
	// (napi_defer_hard_irqs and gro_flush_timeout). 0: off.
	BusyPoll time.Duration
}

const (
	defaultRx    = 4096
	defaultTx    = 1024
	defaultPorts = 16384

	smallChunk = 2048
	largeChunk = 4096 // a chunk larger than a page is EINVAL

	// headroom is the space that the kernel keeps free before a packet (XDP_PACKET_HEADROOM).
	headroom = 256
	// linkMax is the length of the longest supported link header: Ethernet with two VLAN tags.
	linkMax = etherLen + 2*tagLen
)

// complete sets the defaults for an interface with the given number of queues and MTU.
func (c Config) complete(queues, mtu int) (Config, error) {
	if c.Queues > queues {
		return c, newError(QueueCount, fmt.Errorf("%d queues were requested, the interface has %d", c.Queues, queues))
	}
	for _, f := range []struct {
		field  *int
		normal int
	}{{&c.Queues, queues}, {&c.RxFrames, defaultRx}, {&c.TxFrames, defaultTx}, {&c.MaxPorts, defaultPorts}} {
		*f.field = cmp.Or(*f.field, f.normal)
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
