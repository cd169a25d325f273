package wire

import (
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
)

// stream is the data that one side of a captured TCP connection sent.
type stream struct {
	next  uint32 // sequence number after data
	data  []byte
	ports [2]uint16
}

// readStreams joins the segments of a capture of IPv4 over Ethernet, written
// on a little-endian machine, in the order in which the sides first spoke.
func readStreams(t *testing.T, file string) []*stream {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*stream
	byPorts := map[[2]uint16]*stream{}
	for b = b[24:]; len(b) > 0; {
		frame := b[16 : 16+le.Uint32(b[8:])]
		b = b[16+len(frame):]
		ip := frame[14:]
		tcp := ip[int(ip[0]&15)*4 : binary.BigEndian.Uint16(ip[2:])]
		ports := [2]uint16{binary.BigEndian.Uint16(tcp), binary.BigEndian.Uint16(tcp[2:])}
		seq, data := binary.BigEndian.Uint32(tcp[4:]), tcp[int(tcp[12]>>4)*4:]
		const syn = 2
		if tcp[13]&syn != 0 {
			byPorts[ports] = &stream{next: seq + 1, ports: ports}
		}
		s := byPorts[ports]
		if len(data) == 0 || s == nil || seq != s.next {
			continue // a keep-alive or a retransmission
		}
		if s.data == nil {
			all = append(all, s)
		}
		s.data = append(s.data, data...)
		s.next += uint32(len(data))
	}
	return all
}

// TestCaptures: every byte of the captured connections is decoded.
func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		file string
		want []string // per stream: the opening message and the operations
	}{
		{"testdata/msg.pcap", []string{
			"connreq", "reject", "connreq", "reject",
			"connreq msg msg msg msg write write write write write read_req read_req",
			"connresp ack ack ack read_rsp read_rsp",
		}},
		{"testdata/rdm.pcap", []string{
			"connreq msg tag tag tag tag_rts data tag_rts data tag_rts data write read_req",
			"connresp ack cts cts cts ack read_rsp",
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			var got []string
			for _, s := range readStreams(t, c.file) {
				cm, n, err := ParseCM(s.data)
				if err != nil {
					t.Fatalf("%v: %v", s.ports, err)
				}
				words := []string{cm.Type.String()}
				for b := s.data[n:]; len(b) > 0; {
					var h Header
					n, err := h.Decode(b, Little)
					if err != nil {
						t.Fatalf("%v: %v at %x", s.ports, err, b[:min(len(b), 32)])
					}
					if h.Size > uint64(len(b)) {
						t.Fatalf("%v: %s is cut", s.ports, &h)
					}
					if peek, _ := PeekHeaderLen(b); peek != n {
						t.Errorf("PeekHeaderLen %d, Decode %d", peek, n)
					}
					word, _, _ := strings.Cut(h.String(), " ")
					words = append(words, word)
					b = b[h.Size:]
				}
				got = append(got, strings.Join(words, " "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
