//go:build linux && !fabricbasic

package tcp

// The cost of many streams in shared memory.

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"gofabric/core"
)

// star is an endpoint with several peers, each in its own domain.
type star struct {
	t      testing.TB
	f      []*core.Fabric
	d      []*dom
	ep     []*rdm        // the first is the centre
	to     []core.FIAddr // the others
	hub    []core.FIAddr // the centre's address in each peer's vector
	in     []byte
	shared int
}

func newStar(t testing.TB, peers int) *star {
	t.Helper()
	s := &star{t: t, in: make([]byte, 64), to: make([]core.FIAddr, peers+1), hub: make([]core.FIAddr, peers+1)}
	for i := range peers + 1 {
		f, d, info := fixture(t, core.EPTypeRDM, map[string]string{"FI_TCP_SINGLE_COPY_SIZE": "-1"})
		s.f, s.d, s.ep = append(s.f, f), append(s.d, d), append(s.ep, openEndpoint(t, d, info))
		if i == 0 {
			continue
		}
		s.to[i], s.hub[i] = s.meet(0, i), s.meet(i, 0)
	}
	for range moveAfter + 8 {
		for i := range peers {
			s.ping(i + 1)
		}
	}
	s.d[0].drv.prog.Lock()
	for p := range s.ep[0].drv.Each {
		if p.Stream.(*tcpStream).shm() != nil {
			s.shared++
		}
	}
	s.d[0].drv.prog.Unlock()
	return s
}

// meet inserts the address of endpoint j into the vector of i.
func (s *star) meet(i, j int) core.FIAddr {
	s.t.Helper()
	name, err := s.ep[j].Name()
	must(s.t, err)
	fi := make([]core.FIAddr, 1)
	_, err = s.ep[i].v.Insert([]core.Addr{name}, fi, 0)
	must(s.t, err)
	return fi[0]
}

// ping sends a message to peer i and receives its answer.
func (s *star) ping(i int) {
	s.send(0, i, s.to[i])
	s.send(i, 0, s.hub[i])
}

func (s *star) send(from, to int, dest core.FIAddr) {
	es := make([]core.CQEntry, 1)
	must(s.t, s.ep[to].Recv(s.in, 0, core.AddrUnspec, 1))
	for end := time.Now().Add(bound); ; {
		err := s.ep[from].Inject(s.in[:8], dest)
		if err == nil {
			break
		}
		if !errors.Is(err, core.ErrAgain) || time.Now().After(end) {
			s.t.Fatal(err)
		}
		s.ep[from].q.Read(nil)
		s.ep[to].q.Read(nil)
	}
	for end := time.Now().Add(bound); ; {
		s.ep[from].q.Read(nil)
		if n, err := s.ep[to].q.Read(es); n == 1 {
			return
		} else if !errors.Is(err, core.ErrAgain) || time.Now().After(end) {
			s.t.Fatalf("from %d to %d: nothing comes: %v", from, to, err)
		}
	}
}

func (s *star) close() {
	for i := range s.ep {
		s.ep[i].closeAll(s.t)
		must(s.t, s.d[i].Close())
		must(s.t, s.f[i].Close())
	}
}

// used returns the processor time of the process. Unlike the clock, it excludes other load on the machine.
func used() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkShm measures, on one thread, a pass that finds nothing, and a message to one of many peers with its
// answer.
func BenchmarkShm(b *testing.B) {
	for _, n := range []int{1, 2, 3, 7, 31} {
		s := newStar(b, n)
		b.Run(fmt.Sprintf("pass/%d", s.shared), func(b *testing.B) {
			before, passes := used(), 0
			for b.Loop() {
				s.ep[0].q.Read(nil)
				passes++
			}
			b.ReportMetric(float64(used()-before)/float64(passes), "cpu-ns/pass")
		})
		b.Run(fmt.Sprintf("ping/%d", s.shared), func(b *testing.B) {
			before, pings := used(), 0
			for b.Loop() {
				s.ping(1 + pings%n)
				pings++
			}
			b.ReportMetric(float64(used()-before)/float64(pings), "cpu-ns/ping")
		})
		s.close()
	}
}
