package pull

import (
	"crypto/rand"
	"os"
	"sync"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// maxParts bounds the ranges of one call on each side; an operation has at most four, and the seal is one more.
const maxParts = 8

// Puller implements engine.Puller. It has no state; its methods may be called from any goroutine.
type Puller struct{}

var _ engine.Puller = Puller{}

// self is who this process is; false if that cannot be found out, and then nothing is pulled.
var self = sync.OnceValues(func() (*engine.Identity, bool) {
	id := &engine.Identity{PID: uint32(os.Getpid())}
	rand.Read(id.Process[:]) // never fails (crypto/rand)
	ok := hostIdentity(id)
	return id, ok
})

// New returns a Puller, nil where there is none: an engine.Puller that is nil means that everything goes through the connection.
func New() engine.Puller {
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

// Challenge returns bytes that nobody can guess.
func (Puller) Challenge() (c [engine.SealLen]byte) {
	rand.Read(c[:])
	return c
}

// Address is what a peer calls b.
func (Puller) Address(b []byte) uint64 { return address(b) }

// Pull copies the remote ranges of process pid to local, which are equally long. It reads the seal at sealAt in the same step and reports false if that is
// not what it should be: the process is another one by now.
func (Puller) Pull(pid uint32, seal *[engine.SealLen]byte, sealAt uint64, remote []wire.RMAIov, local [][]byte) bool {
	if len(remote) >= maxParts || len(local) >= maxParts {
		return false
	}
	return pull(pid, seal, sealAt, remote, local)
}
