package wire

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the results of String for the packets of native peers into the golden files")

const goldenFile = "testdata/native.txt"

// golden is a packet that a native peer sent.
type golden struct {
	comment, text string
	pkt           []byte
}

// goldens reads the packets.
func goldens(t testing.TB) (gs []golden) {
	t.Helper()
	b, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n\n") {
		var g golden
		var digits string
		for line := range strings.SplitSeq(part, "\n") {
			switch {
			case strings.HasPrefix(line, "# "):
				g.comment = line[2:]
			case strings.HasPrefix(line, "= "):
				g.text = line[2:]
			default:
				digits += line
			}
		}
		if digits != "" {
			g.pkt = unhex(t, digits)
			gs = append(gs, g)
		}
	}
	if len(gs) < 20 {
		t.Fatalf("only %d packets", len(gs))
	}
	return gs
}

// packet is the interface of all packet types.
type packet interface {
	fmt.Stringer
	Append([]byte) []byte
}

// parse parses a packet of any type.
func parse(b []byte) (packet, []byte, error) {
	base, err := ParseBase(b)
	if err != nil {
		return nil, nil, err
	}
	switch base.Type {
	case TypeRTS:
		var r RTS
		rest, err := r.Parse(b)
		return &r, rest, err
	case TypeCTS:
		var c CTS
		rest, err := c.Parse(b)
		return &c, rest, err
	case TypeAck:
		var a Ack
		err := a.Parse(b)
		return &a, nil, err
	case TypeData, TypeDataRead:
		var d Data
		rest, err := d.Parse(b)
		return &d, rest, err
	}
	var o Op
	rest, err := o.Parse(b)
	return &o, rest, err
}

// TestGolden parses packets of native peers and encodes them again, to the same bytes except the garbage in unused
// fields.
func TestGolden(t *testing.T) {
	seen := map[Type]bool{}
	for _, g := range goldens(t) {
		t.Run(g.comment, func(t *testing.T) {
			p, payload, err := parse(g.pkt)
			if err != nil {
				t.Fatalf("%v of %x", err, g.pkt[:min(len(g.pkt), 64)])
			}
			seen[Type(g.pkt[1])] = true
			if got := fmt.Sprintf("%s + %d", p, len(payload)); got != g.text && !*update {
				t.Errorf("got  %s\nwant %s", got, g.text)
			}
			header := len(g.pkt) - len(payload)
			want := bytes.Clone(g.pkt[:header])
			if p, ok := p.(*Op); ok {
				clearReserved(p, want)
			}
			if Type(want[1]) == TypeAck {
				clear(want[22:]) // the upper half of the window, the segment number
			}
			if got := p.Append(nil); !bytes.Equal(got, want) {
				t.Errorf("got  %x\nwant %x", got, want)
			}
			for cut := range g.pkt {
				_, payload, err := parse(g.pkt[:cut])
				if cut < header && !errors.Is(err, ErrShort) || err == nil && len(payload) != cut-header {
					t.Errorf("cut at %d of %d: %d bytes, %v", cut, len(g.pkt), len(payload), err)
				}
			}
		})
	}
	for typ := TypeMsg; typ <= TypeDataRead; typ++ {
		if typ.Known() && !seen[typ] {
			t.Errorf("no packet of type %s", typ)
		}
	}
	if *update {
		writeTexts(t)
	}
}

// writeTexts writes the result of String below each packet.
func writeTexts(t *testing.T) {
	b, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	gs := goldens(t)
	for i, part := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
		if i > 0 {
			p, payload, err := parse(gs[i-1].pkt)
			if err != nil {
				t.Fatal(err)
			}
			part, _, _ = strings.Cut(part, "\n= ")
			part += fmt.Sprintf("\n= %s + %d", p, len(payload))
		}
		parts = append(parts, part)
	}
	if err := os.WriteFile(goldenFile, []byte(strings.Join(parts, "\n\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
