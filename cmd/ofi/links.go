package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"gofabric/cmd/ofi/internal/getopt"
)

// This file makes the program a tool of native libfabric if it is installed or linked under that tool's name. These
// tools have native's options, texts and exit codes (fi_info(1), fi_pingpong(1), fi_strerror(1)), and no options of
// ofi.

// linked returns the tool of a name, nil for ofi itself.
func linked(argv0 string) func(a *app, argv []string) int {
	switch strings.TrimSuffix(strings.ToLower(filepath.Base(argv0)), ".exe") {
	case "fi_info":
		return (*app).fiInfo
	case "fi_pingpong":
		return (*app).fiPingpong
	case "fi_strerror":
		return (*app).fiStrerror
	}
	return nil
}

// parseNative parses a command line, calls take for each option, and returns the arguments. The program must end
// with code if it is not 0: an option is wrong, or take returned the code. parseNative has printed the reason then,
// and usage the help.
func (a *app) parseNative(argv []string, options []getopt.Option, take func(name byte, value string) (code int), usage func()) (args []string, code int) {
	p := getopt.New(argv[1:], options)
	for {
		o, value, err := p.Next()
		switch {
		case err != nil:
			fmt.Fprintf(a.errOut, "%s: %v\n", argv[0], err)
			usage()
			return nil, 1
		case o == nil:
			return p.Args(), 0
		case o.Short == 'h':
			usage()
			return nil, 1 // as native does
		}
		if code := take(o.Short, value); code != 0 {
			return nil, code
		}
	}
}

// line writes a line of help.
func line(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
