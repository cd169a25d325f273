package av

import (
	"os"
	"time"

	"gofabric/core"
)

// Windows has no shared vectors: locks of LockFileEx prevent other processes from reading the locked bytes, and the
// access control list that makes a folder private is not available through package os.

// SharedCaps are the capabilities of endpoints whose vectors can be shared: none.
const SharedCaps = core.Caps(0)

func sharedRoot() string { return os.TempDir() }

func openDir(string) (*os.File, error) { return nil, core.ErrNoSys }

func openFiles(*os.File, [32]byte, bool) (f sharedFiles, fresh bool, err error) {
	return f, false, core.ErrNoSys
}

func lock(*os.File, time.Duration) error { return core.ErrNoSys }

func unlock(*os.File) {}

func sweep(*os.File) {}

func (f *sharedFiles) remove(*os.File) {}

func (f *sharedFiles) leave() { f.close() }
