package report

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gofabric/internal/telemetry"
)

// A frame on the socket is its length, four bytes in big-endian order, and as many bytes of JSON.
//
//	process                            fabricd
//	Process, without figures    ->
//	                            <-     Request
//	Process                     ->
//	                            <-     Request
//	...

// Request asks for the present figures.
type Request struct {
	Version int    `json:"version"`
	Seq     uint64 `json:"seq"`
}

// Reply is an answer of a process. Seq is the Request's, 0 in the first message.
type Reply struct {
	Seq     uint64             `json:"seq"`
	Process *telemetry.Process `json:"process"`
}

// MaxFrame is the length of the longest frame from a process, in bytes. MaxRequest is that of fabricd's frames.
const (
	MaxFrame   = 1 << 20
	MaxRequest = 4 << 10
)

var errTooLong = errors.New("the frame is too long")

// WriteFrame writes v as a frame. If it is longer than limit, WriteFrame writes nothing and returns an error.
func WriteFrame(w io.Writer, v any, limit int) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > limit {
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLong, len(body), limit)
	}
	b := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...)
	_, err = w.Write(b)
	return err
}

// firstRoom is the initial buffer for a frame's body, in bytes.
const firstRoom = 4 << 10

// ReadFrame reads a frame into v. It reads at most limit bytes of the body, and its buffer is at most twice as
// large as the received part. r should be buffered.
func ReadFrame(r io.Reader, v any, limit int) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(head[:])
	if uint64(length) > uint64(limit) {
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLong, length, limit)
	}
	n := int(length)
	body := make([]byte, min(n, firstRoom))
	for got := 0; ; {
		if _, err := io.ReadFull(r, body[got:]); err == io.EOF {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
		if got = len(body); got == n {
			return json.Unmarshal(body, v)
		}
		body = append(body, make([]byte, min(n-got, got))...)
	}
}
