//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// windowSize returns the size of a terminal in characters (tty_ioctl(4), TIOCGWINSZ).
func windowSize(f *os.File) (width, height int, err error) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, err
	}
	return int(ws.Col), int(ws.Row), nil
}
