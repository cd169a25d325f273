package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// roomed has the packages whose files belong to rooms. The section "Rooms" of a package's documentation lists the
// rooms from the lowest to the highest. Each line has a name, a colon and files. A name that begins with + continues
// the room above it.
var roomed = []string{"internal/xnet/engine", "internal/endpoint"}

// TestRooms checks that no file of such a package mentions a declaration of a higher room.
func TestRooms(t *testing.T) {
	for _, dir := range roomed {
		fset := token.NewFileSet()
		var files []*ast.File
		doc := ""
		for _, s := range sources(t) {
			if s.dir != dir || s.test || s.ignored() {
				continue
			}
			f, err := parser.ParseFile(fset, filepath.Join("../..", s.path), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
			doc += f.Doc.Text()
		}
		bad, err := upward(fset, files, readRooms(doc), exported(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bad {
			t.Errorf("%s: %s", dir, b)
		}
	}
}

// readRooms reads the rooms from a package's documentation.
func readRooms(doc string) (rooms [][]string) {
	_, list, _ := strings.Cut(doc, "# Rooms\n")
	line := regexp.MustCompile(`^\t(\+?)[\w-]+:((?: +\w+\.go)+)$`)
	for l := range strings.Lines(list) {
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		switch last := len(rooms) - 1; {
		case m == nil:
		case m[1] != "" && last >= 0:
			rooms[last] = append(rooms[last], strings.Fields(m[2])...)
		default:
			rooms = append(rooms, strings.Fields(m[2]))
		}
	}
	return rooms
}

// upward returns the places where a file mentions a declaration of a higher room, and the files that are not in
// exactly one room.
func upward(fset *token.FileSet, files []*ast.File, rooms [][]string, imp types.Importer) (bad []string, err error) {
	room := map[string]int{"doc.go": 0}
	for i, list := range rooms {
		for _, name := range list {
			if _, dup := room[name]; dup {
				bad = append(bad, name+" is in two rooms")
			}
			room[name] = i
		}
	}
	base := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	seen := map[string]bool{"doc.go": true}
	for _, f := range files {
		name := base(f.Pos())
		seen[name] = true
		if _, ok := room[name]; !ok {
			bad = append(bad, name+" is in no room: place it in the list in doc.go")
		}
	}
	for name := range room {
		if !seen[name] {
			bad = append(bad, "there is no "+name)
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: imp}
	pkg, err := conf.Check(files[0].Name.Name, fset, files, info)
	if err != nil {
		return nil, err
	}
	for id, obj := range info.Uses {
		if obj.Pkg() != pkg {
			continue
		}
		from, to := base(id.Pos()), base(obj.Pos())
		if room[to] > room[from] {
			bad = append(bad, fmt.Sprintf("%s:%d mentions %s of %s, which is in a higher room", from,
				fset.Position(id.Pos()).Line, id.Name, to))
		}
	}
	slices.Sort(bad)
	return bad, nil
}

// exported returns an importer for the dependencies of the package in dir. It reads their export data, which the go
// command makes.
func exported(t *testing.T, dir string) types.Importer {
	cmd := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Export}}", "./"+dir)
	cmd.Dir = "../.."
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &errs)
	}
	file := map[string]string{}
	for l := range strings.Lines(string(out)) {
		path, name, _ := strings.Cut(strings.TrimSpace(l), "\t")
		file[path] = name
	}
	return importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(file[path]) })
}

// TestRoomsSee checks that the check finds violations.
func TestRoomsSee(t *testing.T) {
	low := "package p\n\ntype a struct{ n int }\n\nfunc (a) up() {}\n\n"
	high := "package p\n\ntype b struct{ a; m int }\n\nfunc (x b) top() int { x.up(); return x.n + x.m }\n\nfunc (x a) far() {}\n"
	for text, want := range map[string]string{
		"":                             "",
		"var x b":                      "low.go:7 mentions b of high.go, which is in a higher room",
		"func f(x a) { x.far() }":      "low.go:7 mentions far of high.go, which is in a higher room",
		"var x interface{ top() int }": "",
		"func f(x interface{ g() *b }) any { return x.g().m }": "low.go:7 mentions b of high.go, which is in a higher room" +
			"\nlow.go:7 mentions m of high.go, which is in a higher room",
	} {
		fset := token.NewFileSet()
		var files []*ast.File
		for name, src := range map[string]string{"low.go": low + text + "\n", "high.go": high} {
			f, err := parser.ParseFile(fset, name, src, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		rooms := readRooms("Package p.\n\n# Rooms\n\nFiles:\n\n\tfirst: low.go\n\tsecond-one:   high.go\n\nMore.\n")
		bad, err := upward(fset, files, rooms, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(bad, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
		if bad, _ = upward(fset, files, rooms[:1], nil); !slices.Contains(bad,
			"high.go is in no room: place it in the list in doc.go") {
			t.Errorf("a file in no room: %q", bad)
		}
		if bad, _ = upward(fset, files, append(rooms, []string{"low.go", "none.go"}), nil); !slices.Contains(bad,
			"low.go is in two rooms") || !slices.Contains(bad, "there is no none.go") {
			t.Errorf("a file in two rooms, and one that is not there: %q", bad)
		}
	}
}
