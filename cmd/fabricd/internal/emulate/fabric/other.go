//go:build !linux

package fabric

import (
	"errors"
	"os"
)

// nodes exist on Linux only.
type nodes struct{}

func newNodes(*network) (*nodes, error) {
	return nil, errors.New("emulated nodes are network namespaces, which only Linux has; on other systems use the fault provider (udp;fault;ofi_rxd) or package fabrictest")
}

func (*nodes) endPrograms()           {}
func (*nodes) stop()                  {}
func (*nodes) wakeLoop()              {}
func (*nodes) close() error           { return nil }
func (*nodes) write(int, []byte) bool { return false }
func (*nodes) carrier(int, bool)      {}
func (*nodes) overruns(int) uint64    { return 0 }
func (*nodes) file(int) string        { return "" }
func (*nodes) pid() int               { return os.Getpid() }

func (f *Fabric) loop() { close(f.done) }
