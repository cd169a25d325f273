package dgramep_test

import (
	"testing"

	"gofabric/core"
)

// BenchmarkPost measures a send and its completion over a port that does nothing, which is the endpoint's own cost.
func BenchmarkPost(b *testing.B) {
	s, d := tamed(b, 1024, 0)
	d.port.deaf = true
	msg, got := make([]byte, 64), make([]core.CQEntry, 64)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.ep.Send(msg, 0, 0, 1)
		if i&63 == 63 {
			s.tx.Read(got)
		}
	}
}

// BenchmarkReceive measures a posted receive, a datagram for it, and the completion.
func BenchmarkReceive(b *testing.B) {
	s, d := tamed(b, 1024, 0)
	in, msg, got := make([]byte, 64), make([]byte, 64), make([]core.CQEntry, 1)
	b.ReportAllocs()
	for b.Loop() {
		s.ep.Recv(in, 0, core.AddrUnspec, 1)
		d.Progress().Lock()
		d.port.r.Received(peerAt, msg, 0)
		d.Progress().Unlock()
		s.rx.Read(got)
	}
}
