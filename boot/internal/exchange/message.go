package exchange

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind is the type of a message.
type Kind byte

const (
	KindHello   Kind = 1 + iota // to rank 0: identity of the process
	KindWelcome                 // from rank 0
	KindFence                   // to rank 0: at the fence, with the values that were put
	KindRelease                 // from rank 0: all are at the fence, with all values
	KindMissing                 // from rank 0: the ranks that are not at the fence
	KindFail                    // either way: the job is over
	KindBye                     // to rank 0: the process leaves
)

// Limits.
const (
	MaxHello   = 4 << 10  // bytes of a first message
	MaxMessage = 64 << 20 // bytes of any message
	maxRanks   = 1 << 20
)

// header is the size of length and kind, in bytes.
const header = 5

// magic is the beginning of a Hello. Its last byte is the version.
const magic = "gofabric boot 1"

// Hello identifies a process.
type Hello struct {
	Rank, Size int
	Job        string
}

// Entry is a key with its value.
type Entry struct {
	Key   string
	Value []byte
}

// Fence is a process at its Round-th fence. It waits WaitMS milliseconds. In the answer, Release, WaitMS is 0.
type Fence struct {
	Round   uint32
	WaitMS  uint32
	Entries []Entry
}

// Missing has the ranks that are not at the fence.
type Missing struct{ Ranks []int }

// Fail has the reason for the end of the job.
type Fail struct{ Text string }

var errShort = errors.New("the message ends too early")

// Length returns the length of the message that begins with head, without the four bytes of the length.
func Length(head [4]byte, most int) (int, error) {
	n := binary.BigEndian.Uint32(head[:])
	if n < 1 || uint64(n) > uint64(most) {
		return 0, fmt.Errorf("a message of %d bytes, at most %d", n, most)
	}
	return int(n), nil
}

func begin(k Kind) []byte { return []byte{0, 0, 0, 0, byte(k)} }

func finish(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// Bytes returns the message.
func (h *Hello) Bytes() []byte {
	b := append(begin(KindHello), magic...)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Rank))
	b = binary.BigEndian.AppendUint32(b, uint32(h.Size))
	return finish(appendText(b, h.Job))
}

// Bytes returns the message, a Fence or a Release.
func (f *Fence) Bytes(k Kind) []byte {
	n := 3 * 4
	for i := range f.Entries {
		n += 8 + len(f.Entries[i].Key) + len(f.Entries[i].Value)
	}
	b := append(make([]byte, 0, header+n), begin(k)...)
	b = binary.BigEndian.AppendUint32(b, f.Round)
	b = binary.BigEndian.AppendUint32(b, f.WaitMS)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Entries)))
	for i := range f.Entries {
		b = appendText(b, f.Entries[i].Key)
		b = appendText(b, string(f.Entries[i].Value))
	}
	return finish(b)
}

// Bytes returns the message.
func (m *Missing) Bytes() []byte {
	b := binary.BigEndian.AppendUint32(begin(KindMissing), uint32(len(m.Ranks)))
	for _, r := range m.Ranks {
		b = binary.BigEndian.AppendUint32(b, uint32(r))
	}
	return finish(b)
}

// Bytes returns the message.
func (f *Fail) Bytes() []byte {
	return finish(append(begin(KindFail), f.Text[:min(len(f.Text), MaxHello)]...))
}

// Plain returns a message without a body: Welcome or Bye.
func Plain(k Kind) []byte { return finish(begin(k)) }

// reader parses a body.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.rest)) {
		r.err = errShort
		return nil
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) number() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) text() []byte { return r.take(uint64(r.number())) }

func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("the message is %d bytes too long", len(r.rest))
	}
	return r.err
}

// ParseHello reads the body of a Hello.
func ParseHello(body []byte) (*Hello, error) {
	r := &reader{rest: body}
	if string(r.take(uint64(len(magic)))) != magic {
		return nil, fmt.Errorf("the message does not begin with %q", magic)
	}
	rank, size := r.number(), r.number()
	h := &Hello{Rank: int(rank), Size: int(size), Job: string(r.text())}
	if err := r.end(); err != nil {
		return nil, err
	}
	if size > maxRanks || rank >= size {
		return nil, fmt.Errorf("rank %d of %d processes is not valid", rank, size)
	}
	return h, nil
}

// ParseFence reads the body of a Fence or a Release. The values refer to body.
func ParseFence(body []byte) (*Fence, error) {
	r := &reader{rest: body}
	f := &Fence{Round: r.number(), WaitMS: r.number()}
	n := r.number()
	if uint64(n) > uint64(len(r.rest))/8 {
		return nil, errShort
	}
	f.Entries = make([]Entry, 0, n)
	for range n {
		f.Entries = append(f.Entries, Entry{Key: string(r.text()), Value: r.text()})
		if r.err != nil {
			return nil, r.err
		}
	}
	return f, r.end()
}

// ParseMissing reads the body of a Missing.
func ParseMissing(body []byte) (*Missing, error) {
	r := &reader{rest: body}
	n := r.number()
	if uint64(n) > uint64(len(r.rest))/4 {
		return nil, errShort
	}
	m := &Missing{Ranks: make([]int, n)}
	for i := range m.Ranks {
		m.Ranks[i] = int(r.number())
	}
	return m, r.end()
}
