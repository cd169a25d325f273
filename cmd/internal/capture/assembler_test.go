package capture

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// recorder is a Sink that records its calls: data as it is, a lost byte as '?'.
type recorder struct {
	got   []byte
	whole bool
	ended int
}

func (r *recorder) Data(_ time.Time, b []byte) { r.got = append(r.got, b...) }
func (r *recorder) Gap(_ time.Time, n int) {
	for range min(n, 1000) {
		r.got = append(r.got, '?')
	}
}
func (r *recorder) End(time.Time) { r.ended++ }

func assemble() (*Assembler, *[]*recorder) {
	var list []*recorder
	return &Assembler{Open: func(_, _ netip.AddrPort, whole bool) Sink {
		r := &recorder{whole: whole}
		list = append(list, r)
		return r
	}}, &list
}

func seg(seq uint32, data string) Packet {
	return Packet{Proto: TCP, Src: hostA, Dst: hostB, Seq: seq, Payload: []byte(data)}
}

func TestAssembler(t *testing.T) {
	isn := uint32(0xFFFFFFFC) // the sequence number wraps within the stream
	syn := Packet{Proto: TCP, Src: hostA, Dst: hostB, Seq: isn, SYN: true}
	fin := func(seq uint32, data string) Packet { p := seg(seq, data); p.FIN = true; return p }
	cut := func(seq uint32, data string, missing int) Packet { p := seg(seq, data); p.Missing = missing; return p }
	for _, tc := range []struct {
		name    string
		packets []Packet
		want    string
	}{
		{"in order", []Packet{syn, seg(isn+1, "abc"), seg(isn+4, "def")}, "[abcdef]"},
		{"repeated", []Packet{syn, syn, seg(isn+1, "abc"), seg(isn+1, "abc"), seg(isn+2, "bcd"), seg(isn+5, "ef")}, "[abcdef]"},
		{"reordered", []Packet{syn, seg(isn+4, "def"), seg(isn+7, "g"), seg(isn+1, "abc")}, "[abcdefg]"},
		{"keepalive", []Packet{syn, seg(isn+1, "abc"), seg(isn+3, "\x00"), seg(isn+4, "d")}, "[abcd]"},
		{"lost", []Packet{syn, seg(isn+1, "abc"), seg(isn+6, "fg")}, "[abc??fg]"},
		{"not captured", []Packet{syn, cut(isn+1, "ab", 2), seg(isn+5, "ef")}, "[ab??ef]"},
		{"not captured, then repeated", []Packet{syn, cut(isn+1, "ab", 2), seg(isn+1, "abcdef")}, "[ab??ef]"},
		{"beginning not captured", []Packet{seg(isn+1, "abc"), seg(isn+4, "d")}, "(abcd]"},
		{"closed, repeated", []Packet{syn, fin(isn+1, "abc"), seg(isn+1, "abc"), fin(isn+1, "abc")}, "[abc]"},
		{"FIN before data", []Packet{syn, fin(isn+4, ""), seg(isn+1, "abc")}, "[abc]"},
		{"ports used again", []Packet{syn, seg(isn+1, "abc"), {Proto: TCP, Src: hostA, Dst: hostB, Seq: 70, SYN: true}, seg(71, "x")}, "[abc][x]"},
		{"nothing", []Packet{syn}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, list := assemble()
			for i := range tc.packets {
				a.Packet(&tc.packets[i])
			}
			a.Flush()
			got := ""
			for _, r := range *list {
				open := "("
				if r.whole {
					open = "["
				}
				got += fmt.Sprintf("%s%s]", open, r.got)
				if r.ended != 1 {
					t.Errorf("%q ended %d times", r.got, r.ended)
				}
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestAssemblerModel: for any repetition, reordering, overlap or loss, each byte is delivered once and in its
// place.
func TestAssemblerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.SliceOfN(rapid.ByteRange('a', 'z'), 1, 200).Draw(t, "stream")
		isn := rapid.Uint32().Draw(t, "isn")
		seen := make([]bool, len(stream))
		a, list := assemble()
		a.Packet(&Packet{Proto: TCP, Src: hostA, Dst: hostB, Seq: isn, SYN: true})
		last := 0
		for range rapid.IntRange(1, 60).Draw(t, "segments") {
			from := rapid.IntRange(0, len(stream)-1).Draw(t, "from")
			to := rapid.IntRange(from+1, min(len(stream), from+30)).Draw(t, "to")
			for i := from; i < to; i++ {
				seen[i] = true
			}
			last = max(last, to)
			p := seg(isn+1+uint32(from), string(stream[from:to]))
			a.Packet(&p)
		}
		a.Flush()
		want := make([]byte, last)
		for i := range want {
			if want[i] = '?'; seen[i] {
				want[i] = stream[i]
			}
		}
		if got := string((*list)[0].got); got != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if a.held != 0 {
			t.Fatalf("%d bytes are still held", a.held)
		}
	})
}

func TestAssemblerIsBounded(t *testing.T) {
	a, list := assemble()
	first := seg(0, "a")
	a.Packet(&first)
	data := string(make([]byte, 1<<16))
	for i := range 200 {
		p := seg(uint32(10+i*2<<16), data)
		a.Packet(&p)
		if a.held > maxHeldBytes {
			t.Fatalf("%d bytes held", a.held)
		}
	}
	for i := range 2 * maxHeldSegments {
		p := seg(uint32(1<<30+2*i), "x")
		a.Packet(&p)
	}
	if n := len(a.order[0].held); n > maxHeldSegments {
		t.Fatalf("%d segments held", n)
	}
	for i := range maxStreams + 10 {
		a.Packet(&Packet{Proto: TCP, Src: netip.AddrPortFrom(netip.AddrFrom4([4]byte{1, byte(i >> 16), byte(i >> 8), byte(i)}), 1), Dst: hostB, SYN: true})
	}
	if n := a.Flush(); n != 11 {
		t.Errorf("%d packets refused", n)
	}
	if len(*list) != 1 {
		t.Errorf("%d streams", len(*list))
	}
}
