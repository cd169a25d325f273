package shm

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// take takes one record, nil if there is none.
func take(t interface{ Fatal(...any) }, e *Rings, room []byte) (b []byte, mark uint32) {
	some, err := e.HasRecord()
	if err != nil {
		t.Fatal(err)
	}
	n, mark, more, err := e.ReadRecord(room)
	if err != nil || more != some {
		t.Fatal("Peek said ", some, ", Take ", more, err)
	}
	if !more {
		return nil, 0
	}
	return room[:n:n], mark
}

// TestRecords plays both ends in turn, against lists of records.
func TestRecords(t *testing.T) {
	room := make([]byte, RecordMax)
	rapid.Check(t, func(rt *rapid.T) {
		a, b := pair()
		ends := [2]*Rings{a, b}
		type record struct {
			data []byte
			mark uint32
		}
		var queued [2][]record // written by end i and not taken by the other
		var held, freed [2]int // bytes in the ring that end i writes; of those, bytes taken and not freed
		var viaSocket [2]int   // sent by end i through the socket, not known by the other to have come
		next := byte(0)
		for range rapid.IntRange(1, 100).Draw(rt, "steps") {
			i := rapid.IntRange(0, 1).Draw(rt, "end")
			e, o := ends[i], 1-i
			switch rapid.SampledFrom([]string{"write", "write", "write", "read", "read", "free", "viaSocket",
				"drained"}).Draw(rt, "do") {
			case "write":
				size := rapid.SampledFrom([]int{0, 1, 7, 8, 64, 1471, 65507, RecordMax}).Draw(rt, "size")
				m := make([]byte, size)
				for k := 0; k < size; k += 61 {
					m[k] = next
					next += 3
				}
				cut := rapid.IntRange(0, size).Draw(rt, "cut")
				mark := rapid.Uint32().Draw(rt, "mark")
				ok, err := e.WriteRecord([][]byte{m[:cut], m[cut:]}, size, mark)
				span := (size + 8 + 7) / 8 * 8
				if err != nil || ok != (held[i]+span <= RingSize) {
					rt.Fatalf("Put of %d with %d in the ring: %v, %v", size, held[i], ok, err)
				}
				if ok {
					held[i] += span
					queued[i] = append(queued[i], record{m, mark})
				}
			case "read":
				got, mark := take(rt, e, room)
				if len(queued[o]) == 0 {
					if got != nil {
						rt.Fatalf("%d bytes of an empty ring", len(got))
					}
					continue
				}
				want := queued[o][0]
				if got == nil || !bytes.Equal(got, want.data) || mark != want.mark {
					rt.Fatalf("a record of %d bytes, want %d", len(got), len(want.data))
				}
				queued[o] = queued[o][1:]
				freed[o] += (len(got) + 8 + 7) / 8 * 8
			case "free":
				e.FreeRecords()
				held[o] -= freed[o]
				freed[o] = 0
			case "viaSocket":
				e.SentViaSocket()
				viaSocket[i]++
			case "drained":
				upTo, news := e.PeerSentViaSocket()
				if news != (viaSocket[o] > 0) {
					rt.Fatalf("news: %v with %d sent via the socket", news, viaSocket[o])
				}
				e.SetSocketDrained(upTo)
				viaSocket[o] = 0
			}
			for i := range ends {
				if ends[i].SocketDrained() != (viaSocket[i] == 0) {
					rt.Fatalf("SocketDrained: %v with %d sent via the socket", ends[i].SocketDrained(), viaSocket[i])
				}
			}
		}
	})
}

// TestRecordsAtOnce has two goroutines write and read as fast as they can.
func TestRecordsAtOnce(t *testing.T) {
	const records = 20_000
	a, b := pair()
	done := make(chan struct{})
	go func() {
		defer close(done)
		rnd := rand.New(rand.NewPCG(1, 2))
		buf := make([]byte, 3000)
		for i := 0; i < records; {
			n := rnd.IntN(len(buf))
			if n > 0 {
				buf[0], buf[n-1] = byte(i), byte(i+n-1)
			}
			ok, err := a.WriteRecord([][]byte{buf[:n/3], buf[n/3 : n]}, n, uint32(i))
			if err != nil {
				t.Error(err)
				return
			}
			if ok {
				i++
			} else {
				rnd = rand.New(rand.NewPCG(uint64(i), 2))
				runtime.Gosched()
			}
		}
	}()
	room := make([]byte, RecordMax)
	for i := 0; i < records; {
		some, err := b.HasRecord()
		if err != nil {
			t.Fatal(err)
		}
		if !some {
			runtime.Gosched()
			continue
		}
		for {
			n, mark, more, err := b.ReadRecord(room)
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			if mark != uint32(i) || n > 0 && (room[0] != byte(i) || room[n-1] != byte(i+n-1)) {
				t.Fatalf("record %d is wrong: mark %d, %d bytes", i, mark, n)
			}
			i++
		}
		b.FreeRecords()
	}
	<-done
}

// FuzzRecords lets a peer write anything: positions, heads and bytes, between and during the reader's calls.
// Invalid data is ErrBroken, and records that are read fit.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add(bytes.Repeat([]byte{8, 0, 0, 0, 9, 0, 0, 0}, 20))
	f.Fuzz(func(t *testing.T, script []byte) {
		a, b := pair()
		room := make([]byte, RecordMax)
		word := func() (v uint64) {
			var w [8]byte
			script = script[copy(w[:], script):]
			return binary.LittleEndian.Uint64(w[:])
		}
		check := func(err error) {
			if err != nil && err != ErrBroken {
				t.Fatal(err)
			}
		}
		for len(script) > 0 {
			do := script[0] % 8
			script = script[1:]
			switch do {
			case 0:
				b.out.produced.Store(word())
			case 1:
				b.out.produced.Store(a.consumed + word()%(2*RingSize)) // near the valid position
			case 2:
				b.in.consumed.Store(word())
			case 3:
				at := (a.consumed + word()%64) % RingSize
				copy(b.out.data[at:], script)
			case 4:
				b.out.viaSocket.Store(uint32(word()))
				b.in.socketDrained.Store(uint32(word()))
				b.in.polls.Store(uint32(word()))
			case 5:
				n := int(word() % (RingSize + 9))
				if n <= len(room) {
					_, err := a.WriteRecord([][]byte{room[:n]}, n, 1)
					check(err)
				}
				a.PeerPolls()
				a.SocketDrained()
			case 6:
				_, err := a.HasRecord()
				check(err)
				upTo, _ := a.PeerSentViaSocket()
				a.SetSocketDrained(upTo)
			case 7:
				n, _, more, err := a.ReadRecord(room)
				check(err)
				if n > RecordMax || n > 0 && !more {
					t.Fatal(n, more)
				}
				a.FreeRecords()
			}
		}
	})
}

// TestRecordBroken makes the words that a peer writes invalid one by one.
func TestRecordBroken(t *testing.T) {
	room := make([]byte, RecordMax)
	for name, spoil := range map[string]func(b *Rings){
		"more than fits":                func(b *Rings) { b.out.produced.Store(RingSize + 8) },
		"behind the read position":      func(b *Rings) { b.out.produced.Store(^uint64(7)) },
		"not a whole record":            func(b *Rings) { b.out.produced.Store(12) },
		"longer than the written bytes": func(b *Rings) { b.out.data[0] = 9; b.out.produced.Store(16) },
		"longer than a record may be":   func(b *Rings) { b.out.data[2] = 2; b.out.produced.Store(RingSize) },
	} {
		a, b := pair()
		spoil(b)
		some, err := a.HasRecord()
		if err == nil && some {
			_, _, _, err = a.ReadRecord(room)
		}
		if err != ErrBroken {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, b := pair()
	b.in.consumed.Store(1 << 40)
	for range RingSize/RecordMax + 1 {
		if _, err := a.WriteRecord([][]byte{room}, len(room), 0); err == ErrBroken {
			return
		}
	}
	t.Error("more was read than was written")
}

func BenchmarkRecord(b *testing.B) {
	x, y := pair()
	parts, room := [][]byte{make([]byte, 64)}, make([]byte, RecordMax)
	b.ReportAllocs()
	for b.Loop() {
		x.WriteRecord(parts, 64, 0)
		x.PeerPolls()
		y.HasRecord()
		y.ReadRecord(room)
		y.FreeRecords()
	}
}
