package telemetry

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A frame on the socket is its length, four bytes, the highest first, and as many bytes of JSON.
//
//	process                            fabricd
//	Process, without figures    ->
//	                            <-     Request
//	Process                     ->
//	                            <-     Request
//	...

// Request asks for the figures of now.
type Request struct {
	Version int    `json:"version"`
	Seq     uint64 `json:"seq"`
}

// Reply is what a process says; Seq is that of the Request, 0 of the first word.
type Reply struct {
	Seq     uint64   `json:"seq"`
	Process *Process `json:"process"`
}

// MaxFrame is the longest frame from a process, bytes; MaxRequest from fabricd.
const (
	MaxFrame   = 1 << 20
	MaxRequest = 4 << 10
)

var errTooLong = errors.New("the frame is too long")

// WriteFrame writes v as a frame. One longer than limit is an error, and nothing is written.
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

// ReadFrame reads a frame into v. It reads no more of the body than limit, and makes room only for what comes.
func ReadFrame(r io.Reader, v any, limit int) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(limit) {
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLong, n, limit)
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(n)))
	switch {
	case err != nil:
		return err
	case len(body) < int(n):
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(body, v)
}
