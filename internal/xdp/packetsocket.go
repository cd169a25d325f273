//go:build linux

package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
)

// packetSocket is a packet socket (packet(7)) beside the rings, for single packets. In copy mode it saves as much work as the rings. But the locks of both directions of
// a queue share a cache line (include/net/xsk_buff_pool.h), which the processor that delivers to this interface writes, so that an answer by the ring waits for that line,
// twice. A ping-pong of two processors takes a third less by the packet socket. Batches leave by the ring, in one call. The socket receives nothing (silentProtocol), and
// bypasses queueing disciplines, as the rings do (PACKET_QDISC_BYPASS).
type packetSocket struct {
	fd  netx.FD
	why error // why there is none
}

// silentProtocol is the protocol that the socket is bound to, in network order: that of LocalTalk (ETH_P_LOCALTALK in linux/if_ether.h). No received Ethernet frame has
// it, as numbers below 0x600 are lengths there. Without a protocol the kernel would parse each packet sent for a transport header (packet_parse_headers in
// net/packet/af_packet.c), 3 % of what a packet costs (BenchmarkHandOver/single).
var silentProtocol = binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_LOCALTALK})

// Why there is no packet socket.
var (
	errPacketSocketOff = errors.New("switched off (FI_UDP_XDP_SINGLE)")
	errZeroCopy        = errors.New("the driver has zero-copy")
)

// openPacketSocket opens the socket on an interface of the calling thread's namespace, unless there is a reason against it.
func (i *Interface) openPacketSocket() packetSocket {
	why := noPacketSocket(i.name, &i.c)
	if i.zero {
		why = errZeroCopy
	}
	if why != nil {
		return packetSocket{netx.NoFD, why}
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return packetSocket{netx.NoFD, err}
	}
	err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: i.index, Protocol: silentProtocol})
	}
	if err != nil {
		unix.Close(fd)
		return packetSocket{netx.NoFD, err}
	}
	return packetSocket{fd: netx.FD(fd)}
}

// noPacketSocket returns why an interface gets no packet socket, as far as is known before it is open. With several transmit queues the kernel would choose one, not always
// the ring's, and packets would overtake each other.
func noPacketSocket(name string, c *Config) error {
	if c.NoPacketSocket {
		return errPacketSocketOff
	}
	if n := sendQueuesOf(name); n != 1 {
		return fmt.Errorf("the interface has %d queues", n)
	}
	return nil
}

func (s *packetSocket) close() {
	if s.fd != netx.NoFD {
		netx.Close(s.fd)
		s.fd = netx.NoFD
	}
}

// HasPacketSocket reports whether SendPacket can be used: it is faster for a single packet than Reserve, Submit and Flush.
func (p *Port) HasPacketSocket() bool { return p.i.packets.fd != netx.NoFD }

// SendPacket transmits one packet at once, all of it from b, which stays the caller's, before what was submitted and not flushed. After an error the packet has not left; Flush of
// the next one says why. Any goroutine may call it.
func (p *Port) SendPacket(b []byte) unix.Errno {
	_, errno := netx.Send(p.i.packets.fd, b, false)
	return errno
}
