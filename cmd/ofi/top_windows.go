package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// windowSize returns the size of a console's window in characters (GetConsoleScreenBufferInfo).
func windowSize(f *os.File) (width, height int, err error) {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info); err != nil {
		return 0, 0, err
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1, nil
}
