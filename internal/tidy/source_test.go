package tidy

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// source is a parsed Go file of the workspace. All modules are below one folder.
type source struct {
	path  string // relative to the root, with slashes
	dir   string
	lines int
	fset  *token.FileSet
	file  *ast.File
	test  bool
}

// sources returns the Go files of all modules. Tests must not change them.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parsed parses every Go file of all modules, once for all tests.
var parsed = sync.OnceValues(func() ([]source, error) {
	root := "../.."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, fmt.Errorf("the module's root is not two levels up: %w", err)
	}
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "build" || strings.HasPrefix(d.Name(), ".") &&
			path != root) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, source{path: rel, dir: dirOf(rel), lines: strings.Count(string(text), "\n"), fset: fset,
			file: file, test: strings.HasSuffix(rel, "_test.go")})
		return nil
	})
	if err == nil && len(all) < 50 {
		err = fmt.Errorf("only %d files found", len(all))
	}
	return all, err
})

func dirOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return "."
}

// imports returns the paths that a file imports.
func (s source) imports() []string {
	var list []string
	for _, i := range s.file.Imports {
		list = append(list, strings.Trim(i.Path.Value, `"`))
	}
	return list
}

// ignored reports whether the file is never built as part of its module.
func (s source) ignored() bool {
	for _, g := range s.file.Comments {
		for _, c := range g.List {
			if c.Pos() > s.file.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			if x, err := constraint.Parse(c.Text); err == nil && x.String() == "ignore" {
				return true
			}
		}
	}
	return false
}
