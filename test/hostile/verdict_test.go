package hostile

// Invalid verdicts on remote accesses, at either end.

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
)

// withVerdicts are the features of a peer that asks for verdicts.
const withVerdicts = wire.FeatureExtended | wire.FeatureDirect | wire.FeatureVerdicts

// said returns an encoded verdict.
func said(v wire.Verdict) []byte {
	h := wire.Header{Op: wire.OpExt}
	h.SetPayload(wire.VerdictLen)
	return v.Append(h.Append(nil, wire.Little))
}

// writeTo returns an encoded write.
func writeTo(addr, key uint64, b []byte) []byte {
	h := wire.Header{Op: wire.OpWrite, IovCnt: 1}
	h.IOV[0] = wire.RMAIov{Addr: addr, Len: uint64(len(b)), Key: key}
	h.SetPayload(uint64(len(b)))
	return append(h.Append(nil, wire.Little), b...)
}

// TestVerdictForgeries sends verdicts on operations that do not exist, and verdicts without the feature. Each ends the
// connection.
func TestVerdictForgeries(t *testing.T) {
	cases := map[string][]byte{
		"accepted without a write":    said(wire.Verdict{Kind: wire.ExtAccepted, Number: 1}),
		"nothing accepted":            said(wire.Verdict{Kind: wire.ExtAccepted}),
		"billions accepted":           said(wire.Verdict{Kind: wire.ExtAccepted, Number: 1<<32 - 1}),
		"refused without a write":     said(wire.Verdict{Kind: wire.ExtRefused, Why: wire.RefusedKey}),
		"refused for no reason":       said(wire.Verdict{Kind: wire.ExtRefused}),
		"a segment too many":          said(wire.Verdict{Kind: wire.ExtRefused, Why: wire.RefusedKey, Segment: 4}),
		"a read refused that is not":  said(wire.Verdict{Kind: wire.ExtReadRefused, Why: wire.RefusedRange}),
		"a verdict that is cut short": append(base(3, byte(wire.OpExt), 0, 0, 0, 16, 23), 13, 0, 0, 0, 1, 0, 0),
		"half of an atomic's elements": append(words(base(3, byte(wire.OpAtomic), 0, 7, 1, 40, 44), 0, 4, 101),
			make([]byte, 4)...),
	}
	for _, st := range extended(t) {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			i := uint64(0)
			for name, b := range cases {
				for _, features := range []uint32{withVerdicts, withVerdicts &^ wire.FeatureVerdicts} {
					r, done := strange(t, p, features)
					r.send(b)
					if !r.closed(p) {
						t.Errorf("%s (features %d): the connection stays open", name, features)
					}
					done()
					i++
					p.Ping(i)
					p.Forget()
				}
			}
		})
	}
}

// TestRefusedAttacker has a hostile peer name memory that it may not access. It gets a refusal, no memory is touched,
// and a valid write on the same connection succeeds. A peer that did not offer the feature loses the connection.
func TestRefusedAttacker(t *testing.T) {
	for _, st := range extended(t) {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			room := make([]byte, secret)
			mr := p.B.Reg(room, core.AccessRemoteWrite)
			r, done := strange(t, p, withVerdicts)
			read := wire.Header{Op: wire.OpReadReq, IovCnt: 1}
			read.IOV[0] = wire.RMAIov{Addr: mr.Base(), Len: 8, Key: mr.Key()}
			read.SetPayload(0)
			fetch := wire.Header{Op: wire.OpAtomicFetch, IovCnt: 1, OpData: 99, Atomic: 99}
			fetch.IOV[0] = read.IOV[0]
			fetch.SetPayload(8)
			r.send(bytes.Join([][]byte{
				writeTo(mr.Base(), mr.Key()^1, make([]byte, 300_000)),
				writeTo(mr.Base()+secret, mr.Key(), []byte("x")),
				read.Append(nil, wire.Little),
				append(fetch.Append(nil, wire.Little), make([]byte, 8)...),
				writeTo(mr.Base(), mr.Key(), []byte("good")),
			}, nil))
			want := bytes.Join([][]byte{
				said(wire.Verdict{Kind: wire.ExtRefused, Why: wire.RefusedKey}),
				said(wire.Verdict{Kind: wire.ExtRefused, Why: wire.RefusedRange, Number: 1}),
				said(wire.Verdict{Kind: wire.ExtReadRefused, Why: wire.RefusedRights}),
				said(wire.Verdict{Kind: wire.ExtReadRefused, Why: wire.RefusedOp}),
				said(wire.Verdict{Kind: wire.ExtAccepted, Number: 3}),
			}, nil)
			got := r.take(p, len(want))
			for at := 7; at < len(got); at += wire.BaseLen + wire.VerdictLen {
				got[at] = 0 // the number in the header
			}
			if !bytes.Equal(got, want) {
				t.Errorf("said\n%x, want\n%x", got, want)
			}
			p.Progress()
			if !bytes.HasPrefix(room, []byte("good\x00")) {
				t.Errorf("memory begins with %q", room[:8])
			}
			r.c.Close()
			done()
			p.Ping(3)

			r, done = strange(t, p, withVerdicts&^wire.FeatureVerdicts)
			r.send(writeTo(mr.Base(), mr.Key()^1, []byte("x")))
			if !r.closed(p) {
				t.Error("a peer that does not support verdicts was not disconnected")
			}
			done()
			p.Ping(4)
			if err := mr.Close(); err != nil {
				t.Error(err)
			}
			p.Forget()
		})
	}
}

// take reads n bytes.
func (r *raw) take(p *conform.Pair, n int) []byte {
	b := make([]byte, 0, n)
	for end := time.Now().Add(conform.Deadline); len(b) < n && time.Now().Before(end); {
		_ = r.c.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		k, err := io.ReadFull(r.c, b[len(b):n])
		b = b[:len(b)+k]
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			p.Progress()
		} else if err != nil {
			r.t.Errorf("%d of %d bytes: %v", len(b), n, err)
			break
		}
	}
	return b
}

// TestRefusedFlood has hostile peers send invalid writes without end and read no answers. Memory stays bounded, and
// honest peers continue.
func TestRefusedFlood(t *testing.T) {
	for _, st := range extended(t) {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			p.Ping(1)
			before := heap()
			one := writeTo(0, rand.Uint64(), nil)
			many := bytes.Repeat(one, 20_000)
			var ends []func()
			for i := range uint64(4) {
				r, done := strange(t, p, withVerdicts)
				stop := make(chan struct{})
				go func() {
					defer close(stop)
					for range 100 {
						if _, err := r.c.Write(many); err != nil {
							return
						}
					}
				}()
				for k := range uint64(10) {
					p.Ping(10 + 100*i + k)
				}
				ends = append(ends, func() { r.c.Close(); <-stop; done() })
			}
			if after := heap(); after > before+48<<20 {
				t.Errorf("heap grew from %d to %d MiB", before>>20, after>>20)
			}
			for _, end := range ends {
				end()
			}
			p.Ping(9)
			p.Forget()
		})
	}
}
