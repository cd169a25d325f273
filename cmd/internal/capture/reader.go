package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// maxFrame is the largest frame that is read, in bytes: above tcpdump's largest, and what offloads make of many
// packets.
const maxFrame = 1 << 20

const classicHeader = 24 // bytes before the first packet of a pcap file

// Reader reads the packets of a capture file. It is for one goroutine.
type Reader struct {
	next      func() ([]byte, gopacket.CaptureInfo, uint8, error)
	damaged   int
	lastError error
	ended     error
}

// NewReader looks at the beginning of a capture and returns a Reader of its packets.
func NewReader(r io.Reader) (rd *Reader, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	magic, err := br.Peek(4)
	if err != nil {
		return nil, fmt.Errorf("capture: the file is too short to be a capture: %w", err)
	}
	c := &Reader{}
	defer func() { // a panic of the library on a damaged header
		if p := recover(); p != nil {
			rd, err = nil, fmt.Errorf("capture: damaged file: %v", p)
		}
	}()
	if binary.LittleEndian.Uint32(magic) == blockSection {
		err = c.openNG(br)
	} else {
		err = c.openClassic(br)
	}
	if err != nil {
		return nil, fmt.Errorf("capture: neither pcap nor pcapng: %w", err)
	}
	return c, nil
}

func (c *Reader) openClassic(br *bufio.Reader) error {
	head, err := br.Peek(classicHeader)
	if err != nil {
		return err
	}
	// The link type has 16 bits; the upper ones of the field say how long the frame check sequence is.
	link := binary.LittleEndian.Uint32(head[20:])
	if head[0] == 0xA1 { // the first byte of a magic number in big-endian order
		link = binary.BigEndian.Uint32(head[20:])
	}
	short := shortLink(link & 0xFFFF)
	r, err := pcapgo.NewReader(br)
	if err != nil {
		return err
	}
	r.SetSnaplen(maxFrame) // the file's own limit is not to be trusted: a damaged length would be allocated
	c.next = func() ([]byte, gopacket.CaptureInfo, uint8, error) {
		data, info, err := r.ReadPacketData()
		if err == io.EOF && info.CaptureLength > 0 {
			err = io.ErrUnexpectedEOF // right behind the packet's header
		}
		return data, info, short, err
	}
	return nil
}

func (c *Reader) openNG(br *bufio.Reader) error {
	r, err := pcapgo.NewNgReader(&blocks{r: br}, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	if err != nil {
		return err
	}
	c.next = func() ([]byte, gopacket.CaptureInfo, uint8, error) {
		data, info, err := r.ReadPacketData()
		link := uint8(linkUnknown)
		if len(info.AncillaryData) > 0 {
			if l, ok := info.AncillaryData[0].(layers.LinkType); ok {
				link = uint8(l)
			}
		}
		return data, info, link, err
	}
	return nil
}

// Next returns the next packet. io.EOF is the end of a whole file; any other error says where the file is damaged
// and nothing more can be read. Frames that cannot be decoded are skipped and counted.
func (c *Reader) Next() (Packet, error) {
	for c.ended == nil {
		data, info, link, err := c.read()
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("capture: the file ends within a packet: %w", err)
			}
			c.ended = err
			break
		}
		p, err := decode(link, data, info)
		if err == nil {
			return p, nil
		}
		c.damaged++
		c.lastError = err
	}
	return Packet{}, c.ended
}

// Undecodable returns how many frames Next skipped, and why it skipped the last of them.
func (c *Reader) Undecodable() (int, error) { return c.damaged, c.lastError }

// read is next, with panics of the library as errors.
func (c *Reader) read() (data []byte, info gopacket.CaptureInfo, link uint8, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("capture: damaged file: %v", r)
		}
	}()
	return c.next()
}
