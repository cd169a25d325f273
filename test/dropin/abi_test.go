package dropin

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// This file compares the layouts of cmd/libfabric/abi.h with those of the system's headers.

// newer are members that structures have gained since libfabric 1.17, whose headers are the oldest that the tests run
// with.
var newer = map[string]bool{
	"fi_ep_attr.xpu_ctx": true, "fi_domain_attr.max_ep_auth_key": true, "fi_domain_attr.max_group_id": true,
	"fi_domain_attr.max_cntr_value":     true,
	"fi_domain_attr.max_err_cntr_value": true, "fi_domain_attr.max_xpu_ctx_cnt": true,
	"fi_ops_av.insert_auth_key": true,
	"fi_ops_av.lookup_auth_key": true, "fi_ops_av.set_user_id": true, "fi_ops_av.lookup2": true,
	"fi_mr_attr.hmem_data": true, "fi_mr_attr.page_size": true,
	"fi_mr_attr.base_mr": true, "fi_mr_attr.sub_mr_cnt": true, "fi_ops_domain.endpoint2": true,
	"fi_ops_domain.xpu_ctx": true, "fi_ops_fabric.domain2": true,
	"fi_cq_err_entry.src_addr": true, "fi_ops_cq.export_xpu": true, "fi_ops_cntr.export_xpu": true,
	"fi_ops_ep.export_xpu": true, "fi_ops.tostr": true,
	"fi_ops.ops_set": true, "fi_mr_auth_key.av": true, "fi_mr_auth_key.src_addr": true,
}

// other are members whose name or size differs: a union that has one name there and another here, and a structure that
// grew.
var other = map[string]bool{"fi_bus_attr.pci": true, "fi_bus_attr.attr": true, "fi_mr_modify.attr": true}

// numbers are the error numbers that the C side uses.
const numbers = "enum { E1 = FI_EAGAIN, E2 = FI_EINVAL, E3 = FI_ENOSYS, E4 = FI_EOPBADSTATE };"

// layout is the content of a header: "struct.member" to offset and size, and enumerators to values.
type layout struct {
	members map[string]string
	values  map[string]int64
}

func layoutOf(t *testing.T, name, source string) layout {
	t.Helper()
	object := filepath.Join(work, name+".o")
	c := filepath.Join(work, name+".c")
	if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", "-c", "-gdwarf-4", "-fno-eliminate-unused-debug-types", "-I../../cmd/libfabric",
		"-o", object, c).CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	l := layout{map[string]string{}, map[string]int64{}}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return l
		}
		if e.Tag != dwarf.TagStructType && e.Tag != dwarf.TagEnumerationType {
			continue
		}
		typ, err := d.Type(e.Offset)
		if err != nil {
			t.Fatal(err)
		}
		l.add(typ)
	}
}

func (l layout) add(typ dwarf.Type) {
	switch s := typ.(type) {
	case *dwarf.StructType:
		for _, m := range s.Field {
			if s.StructName != "" && m.Name != "" {
				l.members[s.StructName+"."+m.Name] = fmt.Sprintf("at %d, %d bytes", m.ByteOffset, m.Type.Size())
			}
		}
	case *dwarf.EnumType:
		for _, v := range s.Val {
			l.values[v.Name] = v.Val
		}
	}
}

// TestABI compares each structure of abi.h with the system's headers, in both directions.
func TestABI(t *testing.T) {
	compile(t, "msg") // skips without the headers
	ours := layoutOf(t, "ours", "#include \"gf.h\"\n"+numbers)
	theirs := layoutOf(t, "theirs", `
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
`+numbers)
	if len(ours.members) < 200 || len(ours.values) < 30 {
		t.Fatalf("found only %d members and %d values", len(ours.members), len(ours.values))
	}
	structs := map[string]bool{}
	for name, at := range ours.members {
		s, _, _ := strings.Cut(name, ".")
		structs[s] = true
		if other[name] || strings.HasPrefix(s, "gf_") {
			continue
		}
		if want, ok := theirs.members[name]; ok && want != at {
			t.Errorf("%s is %s in abi.h, %s in the system's headers", name, at, want)
		} else if !ok && !newer[name] {
			t.Errorf("the system's headers have no %s", name)
		}
	}
	for name := range theirs.members {
		s, _, _ := strings.Cut(name, ".")
		if _, ok := ours.members[name]; !ok && structs[s] && !other[name] {
			t.Errorf("abi.h has no %s", name)
		}
	}
	for name, v := range ours.values {
		if want, ok := theirs.values[name]; ok && want != v {
			t.Errorf("%s is %d in abi.h, %d in the system's headers", name, v, want)
		}
	}
}
