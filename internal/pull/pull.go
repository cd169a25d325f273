package pull

import (
	"crypto/rand"
	"os"
	"sync"

	"gofabric/internal/xnet/engine"
)

// maxParts bounds the ranges of one call on each side: an operation has at most four, and the seal is one more.
const maxParts = 8

// Puller implements engine.CMA. Its methods may be called from any goroutine.
type Puller struct{}

var _ engine.CMA = Puller{}

// self is who this process is; false if that cannot be found out, and then nothing is pulled.
var self = sync.OnceValues(func() (*engine.Identity, bool) {
	id := &engine.Identity{PID: uint32(os.Getpid())}
	rand.Read(id.Process[:]) // never fails (crypto/rand)
	ok := hostIdentity(id)
	return id, ok
})

// New returns a Puller, nil where there is none: an engine.CMA that is nil means that everything goes through the connection.
func New() engine.CMA {
	if _, ok := self(); !ok {
		return nil
	}
	return Puller{}
}

// Identity says who this process is.
func (Puller) Identity() *engine.Identity {
	id, _ := self()
	return id
}

// Address is what a peer calls b.
func (Puller) Address(b []byte) uint64 { return address(b) }

// Pull copies what a peer lends, and looks at its seal after that.
func (Puller) Copy(l *engine.CMARequest) engine.CMAResult {
	if len(l.From) >= maxParts || len(l.Into) >= maxParts {
		return engine.Unreadable
	}
	return pull(l)
}
