package fabricd

import (
	"os"
	"path/filepath"
	"strconv"
)

// EnvDir is the environment variable that names the folder of the daemon's sockets. "off" means that there is no daemon.
const EnvDir = "FABRICD_DIR"

// The sockets in the daemon's folder.
const (
	API   = "api.sock"   // HTTP with JSON: directory, processes, emulation, metrics, the page
	Stats = "stats.sock" // processes that register here are asked for their counters
)

// SystemDir is the folder of a daemon that the system runs.
const SystemDir = "/run/fabricd"

// OwnDir is the folder of a daemon that user uid runs: runtime is XDG_RUNTIME_DIR, which is private to the user; without it, a folder in temp that
// carries the uid.
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

// Dirs are the folders in which a client looks for a daemon, the first first: what FABRICD_DIR says and nothing else if it is set, else the user's own
// daemon and the system's. None if it is "off".
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

// Find returns the path of a daemon's socket, API or Stats, or "" where there is none. In a folder that others may write to the socket must
// belong to this user or to root, or the answer is no: anybody could have put it there.
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
