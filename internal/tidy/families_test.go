package tidy

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// objects declares the objects that the calls below use.
const objects = `package p

import (
	"gofabric"
	"gofabric/core"
)

var (
	dom  *core.Domain
	ep   *core.Endpoint
	av   *core.AddressVector
	set  *core.AVSet
	cq   *core.CompletionQueue
	cntr *core.Counter
	eq   *core.EventQueue
	mr   *core.MemoryRegion
	msg  *core.MsgArgs
	easy *gofabric.Endpoint
	buf  []byte
)

var _ = gofabric.AnyPeer

`

// families has a type and a flag of each family, and the calls that take such a flag in the place of the verb. Flags
// of all other families must not compile there.
var families = []struct {
	family string
	flag   string
	places []string
}{
	{"Caps", "core.CapTagged", []string{"core.Info{Caps: %s}", "core.TxAttr{Caps: %s}", "core.RxAttr{Caps: %s}",
		"core.DomainAttr{Caps: %s}"}},
	{"OpFlags", "core.OpInject", []string{"ep.SendMsg(msg, %s)", "ep.TRecvMsg(nil, %s)", "ep.WriteMsg(nil, %s)",
		"ep.Atomic(nil, %s)", "ep.Barrier2(0, %s, 0)", "ep.SetOpFlags(core.BindTransmit, %s)",
		"ep.Alias(core.BindTransmit, %s)", "core.TxAttr{OpFlags: %s}", "core.RxAttr{OpFlags: %s}",
		"core.OpMsg{Flags: %s}"}},
	{"CompFlags", "core.CompTagged", []string{"core.CQEntry{Flags: %s}"}},
	{"Access", "core.AccessRemoteRead", []string{"core.MRAttr{Access: %s}", "easy.Register(buf, %s)"}},
	{"BindFlags", "core.BindTransmit", []string{"ep.BindCQ(cq, %s)", "ep.BindCounter(cntr, %s)",
		"mr.BindCounter(cntr, %s)", "ep.OpFlags(%s)", "ep.SetOpFlags(%s, core.OpInject)", "ep.Alias(%s, 0)"}},
	{"MRFlags", "core.MRRMAEvent", []string{"core.MRAttr{Flags: %s}"}},
	{"AVFlags", "core.AVEvent", []string{"core.AVAttr{Flags: %s}"}},
	{"InsertFlags", "core.InsertSyncErr",
		[]string{"av.Insert(nil, nil, %s)", "av.InsertSvc(``, ``, %s)", "av.Remove(nil, %s)"}},
	{"AVSetFlags", "core.AVSetUniverse", []string{"core.AVSetAttr{Flags: %s}"}},
	{"CQFlags", "core.CQAffinity", []string{"core.CQAttr{Flags: %s}"}},
	{"EQFlags", "core.EQWrite", []string{"core.EQAttr{Flags: %s}", "eq.Read(nil, %s)"}},
	{"CntrFlags", "core.CntrPeer", []string{"core.CntrAttr{Flags: %s}"}},
	{"InfoFlags", "core.InfoSource", []string{"core.Query{Flags: %s}"}},
	{"AtomicFlags", "core.AtomicFetch", []string{"dom.QueryAtomic(0, 0, %s)"}},
	{"JoinFlags", "core.JoinSend", []string{"ep.Join(core.Addr{}, %s, nil)", "ep.JoinCollective(0, set, %s, nil)"}},
	{"Mode", "core.ModeContext", []string{"core.Info{Mode: %s}"}},
	{"MRMode", "core.MRModeLocal", []string{"core.DomainAttr{MRMode: %s}"}},
	{"Order", "core.OrderSAS", []string{"core.TxAttr{MsgOrder: %s}"}},
}

// TestFlagFamilies: a flag compiles only where a flag of its family is expected.
func TestFlagFamilies(t *testing.T) {
	check := checker(t)
	for _, f := range families {
		for _, place := range f.places {
			for _, g := range families {
				expr := fmt.Sprintf(place, g.flag)
				err := check(expr)
				switch {
				case g.family == f.family && err != nil:
					t.Errorf("%s must compile: %v", expr, err)
				case g.family != f.family && err == nil:
					t.Errorf("%s compiles, with a flag of %s in the place of %s", expr, g.family, f.family)
				case g.family != f.family && !strings.Contains(err.Error(), "cannot use"):
					t.Errorf("%s fails for another reason: %v", expr, err)
				}
			}
		}
	}
}

// checker returns a function that type-checks an expression with the objects above. It reads the packages from their
// export data.
func checker(t *testing.T) func(expr string) error {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "gofabric")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	return func(expr string) error {
		f, err := parser.ParseFile(fset, "p.go", objects+"func _() { use("+expr+") }\n\nfunc use(...any) {}\n", 0)
		if err != nil {
			return err
		}
		_, err = (&types.Config{Importer: imp}).Check("p", fset, []*ast.File{f}, nil)
		return err
	}
}
