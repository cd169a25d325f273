// Package version has the version of gofabric from which a program or a library was built. It is the only place of
// the module's version. The version of the API, which is libfabric's, is core.LibraryVersion.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"gofabric/core"
)

// Number is the version of the module (semver.org). CHANGELOG.md describes it.
const Number = "0.1.0-dev"

const module = "gofabric"

// String returns the version with the revision that the go command has recorded: "0.1.0-dev (revision 0123456789ab,
// modified)". The go command records none for programs of go run and go test.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Number
	}
	return describe(info)
}

// describe is String for the record of the go command. The revision belongs to this module only if the program does.
// In other programs the module is among the dependencies.
func describe(info *debug.BuildInfo) string {
	if !ours(info.Main.Path) {
		for _, d := range info.Deps {
			if ours(d.Path) && d.Version != "" && d.Version != "(devel)" {
				return fmt.Sprintf("%s (%s %s)", Number, d.Path, d.Version)
			}
		}
		return Number
	}
	var revision, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = ", modified"
			}
		}
	}
	if revision == "" {
		return Number
	}
	return Number + " (revision " + revision + modified + ")"
}

// ours reports whether a module is this one or a part of it.
func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// Libfabric returns the version of native libfabric whose behaviour this module has, in native's form
// (PACKAGE_VERSION): "2.6.0".
func Libfabric() string {
	return fmt.Sprintf("%d.%d.0", core.LibraryVersion.Major(), core.LibraryVersion.Minor())
}

// Library returns what fi_tostr(3) returns for the C library (FI_TYPE_VERSION): libfabric's version and the name of
// this module.
func Library() string { return Libfabric() + " (" + module + " " + Number + ")" }

// Text returns the line that a program prints as its version.
func Text(program string) string {
	return fmt.Sprintf("%s %s, libfabric API %s, %s %s/%s\n", program, String(), core.LibraryVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
