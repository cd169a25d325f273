package tidy

import (
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	fileMax     = 600 // lines
	functionMax = 80
)

// TestLengths checks that files and functions are short. Tests and tables are exempt.
func TestLengths(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.dir, "test/") {
			continue
		}
		if s.lines > fileMax {
			t.Errorf("%s has %d lines, more than %d: split it by meaning", s.path, s.lines, fileMax)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line; n > functionMax {
				t.Errorf("%s: %s has %d lines, more than %d: split it by meaning", s.path, f.Name.Name, n, functionMax)
			}
		}
	}
}

// TestNoGoroutinesInCore checks that core and the engines start no goroutines.
func TestNoGoroutinesInCore(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir != "core" && !pure(s.dir) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", s.fset.Position(g.Pos()))
			}
			return true
		})
	}
}

// TestUnsafeInOneFile checks that each package has its unsafe code in one file per platform, which is named for it.
// The C library is exempt, as all of it is unsafe.
func TestUnsafeInOneFile(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir == "cmd/libfabric" {
			continue
		}
		for _, path := range s.imports() {
			if path == "unsafe" && !strings.Contains(filepath.Base(s.path), "unsafe") {
				t.Errorf("%s imports unsafe: move that into unsafe.go", s.path)
			}
		}
	}
}

// TestPublicComments checks that each exported type and function outside internal, cmd and test has a doc comment.
func TestPublicComments(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.dir, "internal/") || strings.HasPrefix(s.dir, "cmd/") ||
			strings.HasPrefix(s.dir, "test/") {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				if d.Tok != token.TYPE {
					continue
				}
				for _, spec := range d.Specs {
					ts := spec.(*ast.TypeSpec)
					if ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil && ts.Comment == nil {
						t.Errorf("%s: type %s has no comment", s.fset.Position(ts.Pos()), ts.Name.Name)
					}
				}
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && d.Recv == nil {
					t.Errorf("%s: func %s has no comment", s.fset.Position(d.Pos()), d.Name.Name)
				}
			}
		}
	}
}

// TestPackageDocs checks that every package has a doc comment.
func TestPackageDocs(t *testing.T) {
	has := map[string]bool{}
	for _, s := range sources(t) {
		if s.ignored() || strings.HasSuffix(s.file.Name.Name, "_test") {
			continue
		}
		has[s.dir] = has[s.dir] || s.file.Doc != nil
	}
	for dir, ok := range has {
		if !ok {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
}

// TestFormat checks that gofmt would change no file.
func TestFormat(t *testing.T) {
	gofmt, err := exec.LookPath("gofmt")
	if err != nil {
		gofmt = filepath.Join(goroot(t), "bin", "gofmt")
	}
	var files []string
	for _, s := range sources(t) {
		files = append(files, "../../"+s.path)
	}
	out, err := exec.Command(gofmt, append([]string{"-l"}, files...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("gofmt -l: %v\n%s", err, out)
	}
}

func goroot(t *testing.T) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestNoDebt checks that no comment has a mark of unfinished work.
func TestNoDebt(t *testing.T) {
	mark := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX|HA` + `CK)\b`)
	for _, s := range sources(t) {
		for _, g := range s.file.Comments {
			if m := mark.FindString(g.Text()); m != "" {
				t.Errorf("%s: a comment says %s: do it, or say in words why not", s.fset.Position(g.Pos()), m)
			}
		}
	}
}

// TestLinks checks that each link from a document to a file of the project leads to a file.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	docs, _ := filepath.Glob("../../*.md")
	more, _ := filepath.Glob("../../docs/*.md")
	deep, _ := filepath.Glob("../../docs/*/*.md")
	docs = append(append(docs, more...), deep...)
	if len(docs) < 3 {
		t.Fatalf("only %d documents found", len(docs))
	}
	for _, d := range docs {
		text, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(d), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", strings.TrimPrefix(d, "../../"), m[1], err)
			}
		}
	}
}
