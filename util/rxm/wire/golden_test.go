package wire

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the results of String for the packets of native peers into the golden files")

const goldenFile = "testdata/native.txt"

// golden is a packet that a native peer sent.
type golden struct {
	comment, text, digits string
	pkt                   []byte
}

// goldens reads the packets: hexadecimal digits; +n stands for n bytes of payload.
func goldens(t testing.TB) (gs []golden) {
	t.Helper()
	b, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n\n") {
		var g golden
		for line := range strings.SplitSeq(part, "\n") {
			switch {
			case strings.HasPrefix(line, "# "):
				g.comment = line[2:]
			case strings.HasPrefix(line, "= "):
				g.text = line[2:]
			case strings.HasPrefix(line, "+"):
				n, err := strconv.Atoi(line[1:])
				if err != nil {
					t.Fatal(err)
				}
				g.digits += line + "\n"
				g.pkt = append(g.pkt, make([]byte, n)...)
			default:
				x, err := hex.DecodeString(line)
				if err != nil {
					t.Fatal(err)
				}
				g.digits += line + "\n"
				g.pkt = append(g.pkt, x...)
			}
		}
		gs = append(gs, g)
	}
	if len(gs) < 12 {
		t.Fatalf("only %d packets", len(gs))
	}
	return gs
}

// TestGolden parses packets of native peers, cut at every length, and encodes them again.
func TestGolden(t *testing.T) {
	gs := goldens(t)
	seen := map[Type]bool{}
	for i := range gs {
		g := &gs[i]
		var p, again Packet
		payload, err := p.Parse(g.pkt)
		if err != nil {
			t.Fatalf("%s: %v", g.comment, err)
		}
		seen[p.Type] = true
		if *update {
			g.text = p.String()
		}
		if got := p.String(); got != g.text {
			t.Errorf("%s:\ngot  %s\nwant %s", g.comment, got, g.text)
		}
		b := append(p.Append(nil), payload...)
		if _, err := again.Parse(b); err != nil || again != p || len(b) != len(g.pkt) {
			t.Errorf("%s: encoded again: %v, %+v\nwant %+v", g.comment, err, again, p)
		}
		for n := range g.pkt {
			if _, err := new(Packet).Parse(g.pkt[:n]); err == nil || !known(err) {
				t.Errorf("%s: %v after a cut at %d of %d", g.comment, err, n, len(g.pkt))
			}
		}
	}
	for ty := TypeEager; ty <= TypeWriteDone; ty++ {
		if !seen[ty] && ty != TypeCredit { // only endpoints over verbs send these
			t.Errorf("no packet of type %s", ty)
		}
	}
	if *update {
		var b strings.Builder
		for _, g := range gs {
			fmt.Fprintf(&b, "# %s\n= %s\n%s\n", g.comment, g.text, g.digits)
		}
		if err := os.WriteFile(goldenFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func known(err error) bool {
	for _, e := range []error{ErrShort, ErrVersion, ErrOrder, ErrType, ErrOp, ErrSize, ErrRanges} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
