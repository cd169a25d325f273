// Package version says which gofabric a program or a library was built from. It is the one place of the module's own version; the version of the
// API, which is libfabric's, is core.LibraryVersion.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"gofabric/core"
)

// Number is the version of the module (semver.org). CHANGELOG.md has what it contains.
const Number = "0.1.0-dev"

const module = "gofabric"

// String is the version with the revision that the go command recorded: "0.1.0-dev (revision 0123456789ab, modified)". Go records none for programs
// that go run and go test build.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Number
	}
	return describe(info)
}

// describe is String for what the go command recorded. The revision is this module's only if the program is; in others the module stands among the
// dependencies.
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

// ours reports whether a module is this one, or one of its parts.
func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// Libfabric is the version of native libfabric whose behaviour this module has, in native's form (PACKAGE_VERSION): "2.6.0".
func Libfabric() string {
	return fmt.Sprintf("%d.%d.0", core.LibraryVersion.Major(), core.LibraryVersion.Minor())
}

// Library is what fi_tostr(3) says of the C library (FI_TYPE_VERSION): libfabric's version, and whose it is.
func Library() string { return Libfabric() + " (" + module + " " + Number + ")" }

// Text is what a program prints of its version, as one line.
func Text(program string) string {
	return fmt.Sprintf("%s %s, libfabric API %s, %s %s/%s\n", program, String(), core.LibraryVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
