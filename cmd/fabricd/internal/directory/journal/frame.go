package journal

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	magic      = "fabrdir1"
	saltSize   = 16
	headerSize = len(magic) + saltSize + 4
	frameHead  = 8        // length and checksum
	maxFrame   = 64 << 20 // bytes: longer ones are damage
)

// ErrDamaged: a file has bad bytes where only good ones can be.
var ErrDamaged = errors.New("damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newHeader begins a file: magic, a random salt, and the checksum of both.
func newHeader() (header, salt []byte) {
	salt = make([]byte, saltSize)
	rand.Read(salt) // never fails (crypto/rand)
	header = append([]byte(magic), salt...)
	return binary.LittleEndian.AppendUint32(header, crc32.Checksum(header, castagnoli)), salt
}

// saltOf returns the salt of a file whose header is good, or nil.
func saltOf(data []byte) []byte {
	if len(data) < headerSize || !bytes.HasPrefix(data, []byte(magic)) {
		return nil
	}
	body := data[:headerSize-4]
	if binary.LittleEndian.Uint32(data[headerSize-4:]) != crc32.Checksum(body, castagnoli) {
		return nil
	}
	return body[len(magic):]
}

// appendFrame puts records into one frame.
func appendFrame(b, salt []byte, records [][]byte) []byte {
	start := len(b)
	b = append(b, make([]byte, frameHead)...)
	for _, r := range records {
		b = binary.AppendUvarint(b, uint64(len(r)))
		b = append(b, r...)
	}
	body := b[start+frameHead:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+4:], checksum(salt, b[start:start+4], body))
	return b
}

func checksum(salt, length, body []byte) uint32 {
	return crc32.Update(crc32.Update(crc32.Checksum(salt, castagnoli), castagnoli, length), castagnoli, body)
}

// frameAt returns the body of the frame at the beginning of b, and whether there is a whole and good one.
func frameAt(b, salt []byte) (body []byte, ok bool) {
	if len(b) < frameHead {
		return nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if n > maxFrame || n > uint64(len(b)-frameHead) {
		return nil, false
	}
	body = b[frameHead : frameHead+n]
	return body, binary.LittleEndian.Uint32(b[4:]) == checksum(salt, b[:4], body)
}

// records calls f with each record of a frame's body.
func records(body []byte, f func([]byte) error) error {
	for len(body) > 0 {
		n, used := binary.Uvarint(body)
		if used <= 0 || n > uint64(len(body)-used) {
			return fmt.Errorf("%w: a frame whose checksum is good does not hold what it says", ErrDamaged)
		}
		if err := f(body[used : used+int(n)]); err != nil {
			return err
		}
		body = body[used+int(n):]
	}
	return nil
}

// read calls f with each record of a file, and returns the length of the good part and whether the last good frame is empty. Bad bytes at the end are for
// the caller to judge; a good frame behind bad bytes is damage.
func read(data []byte, f func([]byte) error) (good int, ended bool, err error) {
	salt := saltOf(data)
	if salt == nil && len(data) <= headerSize { // the machine ended while the file was made
		return 0, false, nil
	}
	if salt == nil {
		return 0, false, fmt.Errorf("%w: it does not begin as a file of fabricd's directory", ErrDamaged)
	}
	good = headerSize
	for good < len(data) {
		body, ok := frameAt(data[good:], salt)
		if !ok {
			break
		}
		if err := records(body, f); err != nil {
			return good, false, err
		}
		good += frameHead + len(body)
		ended = len(body) == 0
	}
	if at := goodBehind(data[good:], salt); at >= 0 {
		return good, false, fmt.Errorf("%w: bad bytes at %d, and a good frame behind them at %d", ErrDamaged, good, good+at)
	}
	return good, ended, nil
}

// scanBudget bounds how many bytes goodBehind sums up, so that a long bad end with unlucky lengths does not take for ever.
const scanBudget = 1 << 30

// goodBehind looks for a good frame behind the bad bytes with which b begins.
func goodBehind(b, salt []byte) int {
	budget := scanBudget
	for at := 1; at+frameHead < len(b) && budget > 0; at++ {
		n := binary.LittleEndian.Uint32(b[at:])
		if n == 0 || n > maxFrame || uint64(n) > uint64(len(b)-at-frameHead) {
			continue
		}
		budget -= int(n)
		if _, ok := frameAt(b[at:], salt); ok {
			return at
		}
	}
	return -1
}

var _ io.Writer = (*frameWriter)(nil)

// frameWriter gathers a snapshot's records into frames.
type frameWriter struct {
	w    io.Writer
	salt []byte
	buf  []byte
	rec  [][]byte
	size int
}

// Write adds one record.
func (w *frameWriter) Write(record []byte) (int, error) {
	w.rec = append(w.rec, bytes.Clone(record))
	w.size += len(record)
	if w.size >= 1<<18 {
		return len(record), w.flush()
	}
	return len(record), nil
}

func (w *frameWriter) flush() error {
	if len(w.rec) == 0 {
		return nil
	}
	return w.emit()
}

func (w *frameWriter) emit() error {
	w.buf = appendFrame(w.buf[:0], w.salt, w.rec)
	clear(w.rec)
	w.rec, w.size = w.rec[:0], 0
	_, err := w.w.Write(w.buf)
	return err
}

// end writes what is left, and the empty frame that says that this is all.
func (w *frameWriter) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.emit()
}
