package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"gofabric/cmd/ofi/internal/getopt"
)

// This file has the program behave as a tool of native libfabric if it is installed or linked under that tool's name. These tools stand apart from ofi's
// commands: they have native's options, texts and exit codes (fi_info(1), fi_pingpong(1), fi_strerror(1)), and none of ours.

// linked returns what the program does under a name; nil for ofi itself.
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

// parseNative goes through the options of a command line and has take use each. It returns the arguments. The program ends with code if it is not 0: an
// option is wrong, or take says so. Then it has printed why, and usage has printed the help.
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
			return nil, 1 // sic
		}
		if code := take(o.Short, value); code != 0 {
			return nil, code
		}
	}
}

// line writes a line of a help.
func line(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
