package av

import (
	"os"
	"time"

	"gofabric/core"
)

// Shared vectors are not to be had on Windows: the locks of LockFileEx keep others from reading what they cover, and a folder is private by its access
// control list, which package os does not tell.

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
