package av

import (
	"fmt"
	"os"
	"time"

	"gofabric/core"
)

// This file has the directory of shared vectors and the locks that show which processes have a vector open.
//
// A vector is two files. Each process that has it open holds a shared lock (flock(2)) on the first, the data. A
// process that gets an exclusive lock on it is the last one, or finds what dead processes left. The second file is
// locked during a change. The kernel releases the locks of a process that dies. Files are created and removed under
// the lock of the directory.

// The longest waits for locks. A lock is held while a change of some addresses is written.
const (
	lockWait  = 5 * time.Second        // for changes
	lookWait  = 300 * time.Microsecond // for look-ups, which may hold a domain's lock
	lockPause = 100 * time.Microsecond
)

var errStuck = fmt.Errorf("another process has held the lock of the shared address vector for %v: %w", lockWait, core.ErrTimedOut)

// sharedFiles has the two files of a vector.
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
