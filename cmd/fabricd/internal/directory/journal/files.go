package journal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gofabric/cmd/fabricd/internal/directory/disk"
)

func logName(n uint64) string      { return fmt.Sprintf("log-%016x", n) }
func snapshotName(n uint64) string { return fmt.Sprintf("snapshot-%016x", n) }

// unfinished is a snapshot that is being written.
const unfinished = "snapshot.new"

// files are the numbers of what is in a folder, in order.
type files struct{ logs, snapshots []uint64 }

func scan(folder disk.Folder) (f files, err error) {
	names, err := folder.Names()
	if err != nil {
		return f, err
	}
	for _, name := range names {
		for prefix, list := range map[string]*[]uint64{"log-": &f.logs, "snapshot-": &f.snapshots} {
			digits, ok := strings.CutPrefix(name, prefix)
			if n, err := strconv.ParseUint(digits, 16, 64); ok && len(digits) == 16 && err == nil {
				*list = append(*list, n)
			}
		}
	}
	slices.Sort(f.logs)
	slices.Sort(f.snapshots)
	return f, nil
}
