//go:build linux

package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
)

// single is a packet socket (packet(7)) beside the rings, for packets that leave alone. Where the kernel copies what is sent, it does not save less work than the rings do,
// but none of it is in memory that the processor writes, too, that delivers to this interface: the locks of both of a queue's directions lie in one cache line
// (include/net/xsk_buff_pool.h), and so the answer to a packet waits until that has come over, twice. A ping-pong of two cores takes a third less; batches do
// better in a ring, which takes them in one call. It hears nothing (silentProtocol) and passes by queueing disciplines, as the rings do (PACKET_QDISC_BYPASS).
type single struct {
	fd  netx.FD
	why error // why there is none
}

// silentProtocol is the protocol that the socket is bound to, in network order: that of LocalTalk (ETH_P_LOCALTALK in linux/if_ether.h), which no received Ethernet frame has, for numbers below
// 0x600 are lengths there. Without any the kernel would look for a transport header in each packet that is sent (packet_parse_headers in net/packet/af_packet.c),
// 3 % of what a packet costs (BenchmarkHandOver/single); who receives it goes by the packet's own header.
var silentProtocol = binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_LOCALTALK})

// Why there is no packet socket.
var (
	errSingleOff  = errors.New("switched off (FI_UDP_XDP_SINGLE)")
	errSingleZero = errors.New("the driver has zero-copy")
)

// openSingle opens the socket on an interface of the calling thread's namespace, if that is to the purpose.
func (i *Interface) openSingle() single {
	why := noSingle(i.name, &i.c)
	if i.zero {
		why = errSingleZero
	}
	if why != nil {
		return single{netx.NoFD, why}
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return single{netx.NoFD, err}
	}
	err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: i.index, Protocol: silentProtocol})
	}
	if err != nil {
		unix.Close(fd)
		return single{netx.NoFD, err}
	}
	return single{fd: netx.FD(fd)}
}

// noSingle says why there is no packet socket on an interface, as far as is known before it is open. With several queues to transmit on the kernel would choose one, not always the
// ring's, and packets overtake each other at the receiver.
func noSingle(name string, c *Config) error {
	if c.NoSingle {
		return errSingleOff
	}
	if n := sendQueuesOf(name); n != 1 {
		return fmt.Errorf("the interface has %d queues", n)
	}
	return nil
}

func (s *single) close() {
	if s.fd != netx.NoFD {
		netx.Close(s.fd)
		s.fd = netx.NoFD
	}
}

// Single reports whether a packet that leaves alone had better go by SendSingle than by Reserve, Submit and Flush.
func (p *Port) Single() bool { return p.i.single.fd != netx.NoFD }

// SendSingle transmits one packet at once, all of it from b, which stays the caller's, before what was submitted and not flushed. If it returns an error, the packet has not left; Flush says of the
// next one what the matter is. Any goroutine may call it.
func (p *Port) SendSingle(b []byte) unix.Errno {
	_, errno := netx.Send(p.i.single.fd, b, false)
	return errno
}
