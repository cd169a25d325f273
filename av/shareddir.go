package av

import (
	"fmt"
	"os"
	"time"

	"gofabric/core"
)

// The directory of shared vectors, and who has one open.
//
// A vector is two files. Who has it open holds a shared lock (flock) on the first, the data: who can lock it for itself alone is the last, or finds what
// dead processes left. The second is locked by who changes the vector. The kernel releases the locks of a process that dies. Files come and go under the
// lock of the directory.

// Waits for locks, which are held while a change of some addresses is written.
const (
	lockWait  = 5 * time.Second        // of changes
	lookWait  = 300 * time.Microsecond // of look-ups, which may hold a domain's lock
	lockPause = 100 * time.Microsecond
)

var errStuck = fmt.Errorf("another process has held the lock of the shared address vector for %v: %w", lockWait, core.ErrTimedOut)

// sharedFiles are the two files of a vector.
type sharedFiles struct {
	root     string
	data     *os.File
	changing *os.File
}

func (f *sharedFiles) close() {
	f.data.Close()
	if f.changing != nil {
		f.changing.Close()
	}
}
