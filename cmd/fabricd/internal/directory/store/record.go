package store

import (
	"encoding/binary"
	"errors"
	"time"
)

// A record is an event in bytes, for the disk: type, kind, flags (one byte each), then as uvarints revision, uid
// and the lease's time in nanoseconds, then key, lease and value, each after its length.

const flagPrivate = 1

var errRecord = errors.New("the record is not valid")

// AppendRecord encodes an event.
func AppendRecord(b []byte, e *Event) []byte {
	flags := byte(0)
	if e.Private {
		flags |= flagPrivate
	}
	b = append(b, byte(e.Type), byte(e.Kind), flags)
	b = binary.AppendUvarint(b, e.Revision)
	b = binary.AppendVarint(b, int64(e.UID))
	b = binary.AppendUvarint(b, uint64(e.TTL))
	for _, s := range [...]string{e.Key, e.Lease} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Value)))
	return append(b, e.Value...)
}

// ParseRecord decodes an event. The value is a copy.
func ParseRecord(b []byte) (e Event, err error) {
	if len(b) < 3 {
		return e, errRecord
	}
	e.Type, e.Kind, e.Private = EventType(b[0]), Kind(b[1]), b[2]&flagPrivate != 0
	if e.Type < Put || e.Type > Expired || e.Kind < Names || e.Kind > Fences {
		return e, errRecord
	}
	r := reader{b: b[3:]}
	e.Revision = r.uvarint()
	e.UID = int(r.varint())
	e.TTL = time.Duration(r.uvarint())
	e.Key = string(r.bytes())
	e.Lease = string(r.bytes())
	if v := r.bytes(); len(v) > 0 {
		e.Value = append([]byte(nil), v...)
	}
	if r.bad || len(r.b) != 0 {
		return e, errRecord
	}
	return e, nil
}

// reader reads fields from b.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}
