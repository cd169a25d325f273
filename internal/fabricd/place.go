package fabricd

import (
	"os"
	"path/filepath"
	"strconv"
)

// EnvDir is the environment variable with the folder of the daemon's sockets. "off" means that there is no daemon.
const EnvDir = "FABRICD_DIR"

// These are the sockets in the daemon's folder.
const (
	API   = "api.sock"   // HTTP with JSON: directory, processes, emulation, metrics, the page
	Stats = "stats.sock" // processes register here, and fabricd asks them for their figures
)

// SystemDir is the folder of a daemon that the system starts.
const SystemDir = "/run/fabricd"

// OwnDir returns the folder of the daemon of user uid. It is in runtime, which is XDG_RUNTIME_DIR and private to the
// user. Without runtime it is a folder in temp with the uid in its name.
func OwnDir(uid int, runtime, temp string) string {
	switch {
	case uid == 0:
		return SystemDir
	case runtime != "":
		return filepath.Join(runtime, "fabricd")
	default:
		return filepath.Join(temp, "fabricd-"+strconv.Itoa(uid))
	}
}

// Dirs returns the folders in which a client looks for a daemon, in this order: only FABRICD_DIR if that is set,
// otherwise the folder of the user's own daemon and that of the system's. It returns none if FABRICD_DIR is "off".
func Dirs() []string {
	switch dir := os.Getenv(EnvDir); dir {
	case "":
	case "off":
		return nil
	default:
		return []string{dir}
	}
	own := OwnDir(os.Getuid(), os.Getenv("XDG_RUNTIME_DIR"), os.TempDir())
	if own == SystemDir {
		return []string{SystemDir}
	}
	return []string{own, SystemDir}
}

// Find returns the path of a daemon's socket, API or Stats, or "" if there is none. If other users may write to the
// folder, the socket must belong to this user or to root, because any user could have made it.
func Find(socket string) string {
	for _, dir := range Dirs() {
		path := filepath.Join(dir, socket)
		info, err := os.Stat(path)
		if err == nil && info.Mode()&os.ModeSocket != 0 && trusted(dir) {
			return path
		}
	}
	return ""
}
