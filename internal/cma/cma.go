package cma

import (
	"crypto/rand"
	"os"
	"sync"

	"gofabric/internal/xnet/engine"
)

// maxParts bounds the ranges of one call on each side. An operation has at most four, and the seal is one more.
const maxParts = 8

// Copier implements engine.CMA. Its methods may be called from any goroutine.
type Copier struct{}

var _ engine.CMA = Copier{}

// self identifies this process. It is false if that is impossible; then nothing is copied.
var self = sync.OnceValues(func() (*engine.Identity, bool) {
	id := &engine.Identity{PID: uint32(os.Getpid())}
	rand.Read(id.Process[:]) // never fails (crypto/rand)
	ok := hostIdentity(id)
	return id, ok
})

// New returns a Copier, or nil where the system has no such call. With a nil engine.CMA all payload goes through
// the connection.
func New() engine.CMA {
	if _, ok := self(); !ok {
		return nil
	}
	return Copier{}
}

// Identity identifies this process.
func (Copier) Identity() *engine.Identity {
	id, _ := self()
	return id
}

// Address returns the address of b, for use by a peer.
func (Copier) Address(b []byte) uint64 { return address(b) }

// Copy copies the memory that a peer has announced, and then checks its seal.
func (Copier) Copy(l *engine.CMARequest) engine.CMAResult {
	if len(l.From) >= maxParts || len(l.Into) >= maxParts {
		return engine.Unreadable
	}
	return readSealed(l)
}
