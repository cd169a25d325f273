package tcp

import (
	"sync/atomic"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/progress"
)

// TestBurstTakesTime: when transmitting a part of a burst takes long, the application is not thought to stay away; not once in several bursts, for that makes the
// next one leave otherwise.
func TestBurstTakesTime(t *testing.T) {
	var ends [2]*rdm
	for i := range ends {
		f, d, info := fixture(t, core.EPTypeRDM, map[string]string{"FI_TCP_LOCAL_SOCKETS": "0"})
		info.Tx.OpFlags = 0
		ends[i] = openEndpoint(t, d, info)
		t.Cleanup(func() {
			ends[i].closeAll(t)
			must(t, d.Close())
			must(t, f.Close())
		})
	}
	a, b := ends[0], ends[1]
	to, err := b.Name()
	must(t, err)
	_, err = a.v.Insert([]core.Addr{to}, nil, 0, nil)
	must(t, err)

	const size, count = 3000, 10 // the ninth makes it more than waits for company, and one is left then
	buf, in := make([]byte, size), make([]byte, size)
	var s *tcpStream
	var posting atomic.Bool // onMoved is called by the domain's goroutine, too
	var sends atomic.Int64
	for good, end := 0, time.Now().Add(bound); good < 4; {
		for range count {
			must(t, b.Recv(in, 0, core.AddrUnspec, 0))
		}
		before, posted := sends.Load(), 0
		posting.Store(true)
		for ; posted < count; posted++ {
			if err := a.Send(buf, 0, 0, 0); err == core.ErrAgain {
				break
			} else {
				must(t, err)
			}
		}
		posting.Store(false)
		a.drv.d.prog.Lock()
		staged := s != nil && s.batch.Waiting()
		a.drv.d.prog.Unlock()
		a.q.Read(nil) // a pass
		a.drv.d.prog.Lock()
		late := a.drv.d.prog.Batch().Away()
		a.drv.d.prog.Unlock()
		switch {
		case s == nil:
		case !staged || sends.Load() == before || late:
			good = 0
		default:
			good++
		}
		if time.Now().After(end) {
			t.Fatalf("what was posted waits: %v, %d times sent before a pass, the application is thought to stay away: %v; want true, some, false", staged, sends.Load()-before, late)
		}
		for got := 0; got < posted; {
			var es [count]core.CQEntry
			a.q.Read(es[:])
			k, err := b.q.Read(es[:])
			if err != nil && err != core.ErrAgain {
				t.Fatal(err)
			}
			got += max(k, 0)
		}
		if s == nil { // the first connects
			a.drv.d.prog.Lock()
			a.drv.d.prog.Each(func(src progress.Source) {
				if x, ok := src.(*tcpStream); ok {
					s = x
				}
			})
			s.onMoved = func() {
				if posting.Load() {
					sends.Add(1)
					for begin := time.Now(); time.Since(begin) < 200*time.Microsecond; { // on this processor, as the system does
					}
				}
			}
			a.drv.d.prog.Unlock()
		}
	}
}
