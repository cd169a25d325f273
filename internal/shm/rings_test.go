package shm

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// pair returns the two ends of a memory of this process.
func pair() (a, b *Rings) {
	mem := make([]byte, Size)
	return New(mem, true), New(mem, false)
}

// TestStream plays both ends in turn, against a queue of bytes.
func TestStream(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := pair()
		ends := [2]*Rings{a, b}
		var queued [2][]byte // written by end i and not read by the other
		sleeps := [2]bool{true, true}
		doorbells := [2]int{} // not received yet
		next := byte(0)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			i := rapid.IntRange(0, 1).Draw(rt, "end")
			e, o := ends[i], 1-i
			size := rapid.SampledFrom([]int{0, 1, 7, 4000, RingSize / 2, RingSize - 1, RingSize, RingSize + 5}).Draw(rt,
				"size")
			switch rapid.SampledFrom([]string{"write", "write", "read", "read", "sleep", "wake"}).Draw(rt, "do") {
			case "write":
				m := make([]byte, size)
				for k := range m {
					m[k] = next
					next += 3
				}
				n, err := e.Write(m)
				if err != nil || n != min(size, RingSize-len(queued[i])) {
					rt.Fatalf("Write of %d with %d queued: %d, %v", size, len(queued[i]), n, err)
				}
				next -= byte(3 * (size - n))
				queued[i] = append(queued[i], m[:n]...)
				if e.DoorbellAfterWrite() {
					if !sleeps[o] {
						rt.Fatal("a doorbell for a consumer that polls")
					}
					doorbells[o]++
				}
			case "read":
				m := make([]byte, size)
				n, err := e.Read(m)
				if err != nil || n != min(size, len(queued[o])) || !bytes.Equal(m[:n], queued[o][:n]) {
					rt.Fatalf("Read of %d with %d queued: %d, %v", size, len(queued[o]), n, err)
				}
				queued[o] = queued[o][n:]
				doorbells[i] = 0
			case "sleep":
				e.SetPolling(false)
				sleeps[i] = true
				if n, _ := e.Unread(); n != len(queued[o]) {
					rt.Fatalf("Waiting: %d of %d", n, len(queued[o]))
				}
				doorbells[i] = 0
				if len(queued[o]) > 0 { // it has seen that there is data
					doorbells[i] = 1
				}
			case "wake":
				e.SetPolling(true)
				sleeps[i] = false
			}
			for i := range ends {
				if sleeps[i] && len(queued[1-i]) > 0 && doorbells[i] == 0 {
					if n, _ := ends[i].Unread(); n > 0 {
						doorbells[i] = 1 // it has read in part, and sees that there is more
						continue
					}
					rt.Fatalf("end %d sleeps beside %d bytes", i, len(queued[1-i]))
				}
			}
		}
	})
}

// TestRoom checks which producer receives a doorbell for room.
func TestRoom(t *testing.T) {
	a, b := pair()
	big := make([]byte, RingSize)
	a.Write(big)
	if n, _ := a.Write(big); n != 0 {
		t.Fatal("more than there is room for")
	}
	if full, err := a.WantRoom(); !full || err != nil {
		t.Fatal(full, err)
	}
	b.Read(big[:10])
	if !b.DoorbellAfterRead() || b.DoorbellAfterRead() {
		t.Error("want one doorbell")
	}
	if full, _ := a.WantRoom(); full {
		t.Error("there is room")
	}
	a.Write(big)
	a.WantRoom()
	a.SetPolling(true)
	b.Read(big)
	if b.DoorbellAfterRead() {
		t.Error("a doorbell for a producer that polls")
	}
}

// sleeper is an end in a goroutine. When it has nothing to do it waits for its doorbell, or spins, at random.
type sleeper struct {
	*Rings
	doorbell, peer chan struct{}
	rnd            *rand.Rand
}

func (s *sleeper) ring() {
	select {
	case s.peer <- struct{}{}:
	default:
	}
}

const chunkMax = 70000

// pattern is what sleepers write, from any position modulo 256 on.
var pattern = func() []byte {
	b := make([]byte, chunkMax+256)
	for k := range b {
		b[k] = byte(k * 7)
	}
	return b
}()

// run writes and reads total bytes.
func (s *sleeper) run(t *testing.T, total int) {
	var out, in int
	b := make([]byte, chunkMax)
	polling := false
	for out < total || in < total {
		n := min(1+s.rnd.IntN(len(b)), total-out)
		w, err := s.Write(pattern[out%256:][:n])
		if err != nil {
			t.Error(err)
			return
		}
		if out += w; w > 0 && s.DoorbellAfterWrite() {
			s.ring()
		}
		r, err := s.Read(b[:1+s.rnd.IntN(len(b))])
		if err != nil {
			t.Error(err)
			return
		}
		if !bytes.Equal(b[:r], pattern[in%256:][:r]) {
			t.Errorf("the %d bytes from %d on are wrong", r, in)
			return
		}
		if in += r; r > 0 && s.DoorbellAfterRead() {
			s.ring()
		}
		if w > 0 || r > 0 {
			continue
		}
		if s.rnd.IntN(4) == 0 {
			polling = !polling
			s.SetPolling(polling)
		}
		if polling {
			runtime.Gosched() // the other end may have no core of its own
			continue
		}
		s.SetPolling(false)
		if out < total {
			if full, _ := s.WantRoom(); !full {
				continue
			}
		}
		if n, _ := s.Unread(); n > 0 {
			continue
		}
		<-s.doorbell
	}
}

// TestDoorbells has two goroutines exchange bytes. They sleep without a time limit, so the test hangs if a doorbell
// is missing.
func TestDoorbells(t *testing.T) {
	for seed := range uint64(20) {
		a, b := pair()
		ca, cb := make(chan struct{}, 1), make(chan struct{}, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&sleeper{a, ca, cb, rand.New(rand.NewPCG(seed, 1))}).run(t, 20<<20)
			select {
			case cb <- struct{}{}: // the end of the peer's socket
			default:
			}
		}()
		(&sleeper{b, cb, ca, rand.New(rand.NewPCG(seed, 2))}).run(t, 20<<20)
		select {
		case ca <- struct{}{}:
		default:
		}
		<-done
	}
}

// TestBroken has a peer write invalid positions.
func TestBroken(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := pair()
		buf := make([]byte, 1000)
		for range 20 {
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0:
				b.out.produced.Store(rapid.Uint64().Draw(rt, "head"))
			case 1:
				b.in.consumed.Store(rapid.Uint64().Draw(rt, "tail"))
			case 2:
				b.in.wantRoom.Store(rapid.Uint32().Draw(rt, "want"))
				b.in.rung.Store(rapid.Uint32().Draw(rt, "rung"))
				b.in.polls.Store(rapid.Uint32().Draw(rt, "polling"))
			case 3:
				n, err := a.Write(buf)
				if n > len(buf) || err != nil && err != ErrBroken {
					rt.Fatal(n, err)
				}
				a.WantRoom()
				a.DoorbellAfterWrite()
			case 4:
				n, err := a.Read(buf)
				if n > len(buf) || err != nil && err != ErrBroken {
					rt.Fatal(n, err)
				}
				a.DoorbellAfterRead()
			case 5:
				if n, err := a.Unread(); n > RingSize || n < 0 || err != nil && err != ErrBroken {
					rt.Fatal(n, err)
				}
			}
		}
	})
	a, b := pair()
	b.out.produced.Store(RingSize + 1)
	if _, err := a.Read(make([]byte, 1)); err != ErrBroken {
		t.Error("more than fits: ", err)
	}
	b.in.consumed.Store(1)
	if _, err := a.Write(make([]byte, RingSize+1)); err != ErrBroken {
		t.Error("read bytes that were not written: ", err)
	}
	if _, err := a.WantRoom(); err != ErrBroken {
		t.Error("Full: ", err)
	}
}

func BenchmarkWriteRead(b *testing.B) {
	x, y := pair()
	buf := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		x.Write(buf)
		y.Read(buf)
	}
}
