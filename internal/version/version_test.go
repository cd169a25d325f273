package version

import (
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	setting := func(pairs ...string) (s []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return s
	}
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		name, want string
		info       debug.BuildInfo
	}{
		{"go run", Number, debug.BuildInfo{Main: debug.Module{Path: "gofabric"}}},
		{"go build", Number + " (revision 0123456789ab)",
			debug.BuildInfo{Main: debug.Module{Path: "gofabric"},
				Settings: setting("vcs.revision", revision, "vcs.modified", "false")}},
		{"a changed tree", Number + " (revision 0123456789ab, modified)",
			debug.BuildInfo{Main: debug.Module{Path: "gofabric"},
				Settings: setting("vcs.modified", "true", "vcs.revision", revision)}},
		{"a module of its own in this repository", Number + " (revision 0123456789ab)",
			debug.BuildInfo{Main: debug.Module{Path: "gofabric/cmd"}, Settings: setting("vcs.revision", revision)}},
		{"another program, whose revision is not ours", Number + " (gofabric v0.1.0)",
			debug.BuildInfo{Main: debug.Module{Path: "example.org/app"}, Settings: setting("vcs.revision", revision),
				Deps: []*debug.Module{{Path: "gofabricated", Version: "v9.0.0"},
					{Path: "gofabric", Version: "v0.1.0"}}}},
		{"another program with a replaced module", Number,
			debug.BuildInfo{Main: debug.Module{Path: "example.org/app"},
				Deps: []*debug.Module{{Path: "gofabric", Version: "(devel)"}}}},
	} {
		if got := describe(&c.info); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	want := regexp.MustCompile(`^ofi \d+\.\d+\.\d+(-\S+)?( \(.*\))?, libfabric API 2\.6, go\S+ \w+/\w+\n$`)
	if got := Text("ofi"); !want.MatchString(got) {
		t.Errorf("%q", got)
	}
}

// TestPackageConfig: pkg-config has the same version of the C library as the library itself.
func TestPackageConfig(t *testing.T) {
	pc, err := os.ReadFile("../../cmd/libfabric/libfabric.pc.in")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(pc), "\nVersion: "+Libfabric()+"\n") || !strings.HasPrefix(Library(), Libfabric()+" ") {
		t.Errorf("the library is %s, and pkg-config has\n%s", Library(), pc)
	}
}
