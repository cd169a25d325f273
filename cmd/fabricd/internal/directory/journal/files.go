package journal

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

func logName(n uint64) string      { return fmt.Sprintf("log-%016x", n) }
func snapshotName(n uint64) string { return fmt.Sprintf("snapshot-%016x", n) }

// files are the numbers of what is in a folder, in order.
type files struct{ logs, snapshots []uint64 }

func scan(dir string) (f files, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return f, err
	}
	for _, e := range entries {
		for prefix, list := range map[string]*[]uint64{"log-": &f.logs, "snapshot-": &f.snapshots} {
			digits, ok := strings.CutPrefix(e.Name(), prefix)
			if n, err := strconv.ParseUint(digits, 16, 64); ok && len(digits) == 16 && err == nil {
				*list = append(*list, n)
			}
		}
	}
	slices.Sort(f.logs)
	slices.Sort(f.snapshots)
	return f, nil
}

// syncDir makes the names of new files durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
