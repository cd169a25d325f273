//go:build linux

package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
)

// packetSocket is a packet socket (packet(7)) for single packets, beside the rings. In copy mode it is as cheap as
// the rings. But the locks of both directions of a queue share a cache line (include/net/xsk_buff_pool.h), which the
// processor that delivers to this interface writes. So an answer through the ring waits for that line twice, and a
// ping-pong of two processors takes a third less time with the packet socket. Batches leave through the ring, in one
// call. The socket receives nothing (silentProtocol), and bypasses queueing disciplines, as the rings do
// (PACKET_QDISC_BYPASS).
type packetSocket struct {
	fd  netx.FD
	why error // why there is no socket
}

// silentProtocol is the protocol to which the socket is bound, in network order: LocalTalk (ETH_P_LOCALTALK in
// linux/if_ether.h). No received Ethernet frame has it, because numbers below 0x600 are lengths there. Without a
// protocol the kernel would look for a transport header in each sent packet (packet_parse_headers in
// net/packet/af_packet.c), which is 3 % of a packet's cost (BenchmarkHandOver/single).
var silentProtocol = binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_LOCALTALK})

// These are the reasons why there is no packet socket.
var (
	errPacketSocketOff = errors.New("switched off (FI_UDP_XDP_SINGLE)")
	errZeroCopy        = errors.New("the driver has zero-copy")
)

// openPacketSocket opens the socket on an interface of the calling thread's namespace, unless there is a reason
// against it.
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

// noPacketSocket returns why an interface gets no packet socket, as far as that is known before the interface is
// open. With several transmit queues the kernel could choose another one than the ring's, and packets would overtake
// each other.
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

// HasPacketSocket reports whether SendPacket can be used. For a single packet it is faster than Reserve, Submit and
// Flush.
func (p *Port) HasPacketSocket() bool { return p.i.packets.fd != netx.NoFD }

// SendPacket transmits one packet at once, before packets that were submitted and not flushed. The caller keeps b.
// After an error the packet has not left; Flush of the next one returns the reason. Any goroutine may call it.
func (p *Port) SendPacket(b []byte) unix.Errno {
	_, errno := netx.Send(p.i.packets.fd, b, false)
	return errno
}
