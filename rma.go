package gofabric

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"

	"gofabric/core"
)

// This file has remote memory access (fi_rma(3)) and memory regions (fi_mr(3)).

// Memory is a buffer that peers may read or write (struct fid_mr, fi_mr(3)).
type Memory struct {
	ep *Endpoint
	mr *core.MemoryRegion
	n  int
}

// RemoteMemory is the description of a Memory that peers need for access. Programs usually send it in a message.
type RemoteMemory struct {
	Base uint64 // remote address of the first byte
	Key  uint64
	Len  uint64 // bytes
}

// remoteMemorySize is the length of the binary form of a RemoteMemory.
const remoteMemorySize = 24

// AppendBinary appends the binary form, 24 bytes: base, key and length, little-endian.
func (m RemoteMemory) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, m.Base)
	b = binary.LittleEndian.AppendUint64(b, m.Key)
	return binary.LittleEndian.AppendUint64(b, m.Len), nil
}

// MarshalBinary returns the binary form, 24 bytes; see AppendBinary.
func (m RemoteMemory) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// UnmarshalBinary reads the result of MarshalBinary.
func (m *RemoteMemory) UnmarshalBinary(b []byte) error {
	if len(b) != remoteMemorySize {
		return &core.OpError{Op: "RemoteMemory.UnmarshalBinary", Err: core.ErrInval, Hint: "the binary form of a RemoteMemory has 24 bytes"}
	}
	m.Base = binary.LittleEndian.Uint64(b)
	m.Key = binary.LittleEndian.Uint64(b[8:])
	m.Len = binary.LittleEndian.Uint64(b[16:])
	return nil
}

// Register lets peers read buf (core.AccessRemoteRead) and write it (core.AccessRemoteWrite) until the Memory or the
// endpoint is closed (fi_mr_reg(3)). Until then buf must stay allocated, and the application must not use it for
// anything else. Its key is random.
func (e *Endpoint) Register(buf []byte, access core.Access) (*Memory, error) {
	const name = "fi_mr_reg"
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.usable(name); err != nil {
		return nil, err
	}
	attr := core.MRAttr{IOV: [][]byte{buf}, Access: access}
	mode := e.base.domain.Attr().MRMode
	var mr *core.MemoryRegion
	var err error
	for range 8 { // a random key may be in use
		if mode&core.MRModeProvKey == 0 {
			attr.RequestedKey = randomKey(e.base.domain.Attr().MRKeySize)
		}
		mr, err = e.base.domain.RegMR(&attr)
		if !errors.Is(err, core.ErrNoKey) || mode&core.MRModeProvKey != 0 {
			break
		}
	}
	if err != nil {
		return nil, e.opError(name, AnyPeer, err, "")
	}
	if mode&core.MRModeEndpoint != 0 {
		if err = mr.BindEndpoint(e.ep); err == nil {
			err = mr.Enable()
		}
		if err != nil {
			mr.Close()
			return nil, e.opError("fi_mr_bind", AnyPeer, err, "")
		}
	}
	m := &Memory{ep: e, mr: mr, n: len(buf)}
	if e.regions == nil {
		e.regions = make(map[*Memory]struct{})
	}
	e.regions[m] = struct{}{}
	return m, nil
}

// randomKey returns a random key of at most size bytes.
func randomKey(size int) uint64 {
	var b [8]byte
	rand.Read(b[:])
	k := binary.LittleEndian.Uint64(b[:])
	if size > 0 && size < 8 {
		k &= 1<<(8*size) - 1
	}
	if k == core.KeyNotAvail {
		k--
	}
	return k
}

// Remote returns the description that peers need to access the memory.
func (m *Memory) Remote() RemoteMemory {
	return RemoteMemory{Base: m.mr.Base(), Key: m.mr.Key(), Len: uint64(m.n)}
}

// Close ends the peers' access to the memory (fi_close(3)). Their transfers in progress fail.
func (m *Memory) Close() error {
	m.ep.mu.Lock()
	defer m.ep.mu.Unlock()
	if _, ok := m.ep.regions[m]; !ok {
		return nil // already closed, perhaps with its endpoint
	}
	delete(m.ep.regions, m)
	return m.mr.Close()
}

// Write copies buf into the peer's memory, offset bytes from its beginning (fi_write(3)). When it returns, buf may be
// used again. The peer's memory has certainly changed when the peer answers, or on return with
// core.OpDeliveryComplete (see Endpoint).
func (e *Endpoint) Write(ctx context.Context, to Peer, buf []byte, m RemoteMemory, offset uint64) error {
	r := request{verb: write, peer: to, buf: buf, addr: m.Base + offset, key: m.Key}
	if err := e.inside(&r, m, offset); err != nil {
		return err
	}
	_, err := e.do(ctx, &r)
	return err
}

// Read copies len(buf) bytes of the peer's memory, offset bytes from its beginning, into buf (fi_read(3)).
func (e *Endpoint) Read(ctx context.Context, from Peer, buf []byte, m RemoteMemory, offset uint64) error {
	r := request{verb: read, peer: from, buf: buf, addr: m.Base + offset, key: m.Key}
	if err := e.inside(&r, m, offset); err != nil {
		return err
	}
	_, err := e.do(ctx, &r)
	return err
}

// inside checks bounds before anything is sent. The peer checks them, too.
func (e *Endpoint) inside(r *request, m RemoteMemory, offset uint64) error {
	if offset <= m.Len && uint64(len(r.buf)) <= m.Len-offset {
		return nil
	}
	return e.opError(verbNames[r.verb], AnyPeer, core.ErrInval, "the transfer would exceed the remote memory")
}
