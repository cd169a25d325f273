package pmi

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// golden has messages as MPICH's hydra 4.0.2 (PMI-1, PMI-2) and Slurm 22.05 (PMI-2) sent them.
var golden = []struct {
	name string
	d    Dialect
	data string
	want Message
}{
	{"hydra init", V1{}, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
		Message{{"cmd", "response_to_init"}, {"pmi_version", "1"}, {"pmi_subversion", "1"}, {"rc", "0"}}},
	{"hydra maxes", V1{}, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
		Message{{"cmd", "maxes"}, {"kvsname_max", "256"}, {"keylen_max", "64"}, {"vallen_max", "1024"}}},
	{"hydra name", V1{}, "cmd=my_kvsname kvsname=kvs_3534_0_1194332646_vm\n",
		Message{{"cmd", "my_kvsname"}, {"kvsname", "kvs_3534_0_1194332646_vm"}}},
	{"hydra put", V1{}, "cmd=put_result rc=0 msg=success\n",
		Message{{"cmd", "put_result"}, {"rc", "0"}, {"msg", "success"}}},
	{"hydra barrier", V1{}, "cmd=barrier_out\n", Message{{"cmd", "barrier_out"}}},
	{"hydra get", V1{}, "cmd=get_result rc=0 msg=success value=again\n",
		Message{{"cmd", "get_result"}, {"rc", "0"}, {"msg", "success"}, {"value", "again"}}},
	{"hydra none", V1{}, "cmd=get_result rc=-1 msg=key_nope_not_found value=unknown\n",
		Message{{"cmd", "get_result"}, {"rc", "-1"}, {"msg", "key_nope_not_found"}, {"value", "unknown"}}},
	{"hydra fullinit", V2{}, "   113cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=0;size=2;appnum=0;debugged=FALSE;pmiverbose=FALSE;rc=0;",
		Message{{"cmd", "fullinit-response"}, {"pmi-version", "2"}, {"pmi-subversion", "0"}, {"rank", "0"},
			{"size", "2"}, {"appnum", "0"},
			{"debugged", "FALSE"}, {"pmiverbose", "FALSE"}, {"rc", "0"}}},
	{"hydra get2", V2{}, "    45cmd=kvs-get-response;found=TRUE;value=a;rc=0;",
		Message{{"cmd", "kvs-get-response"}, {"found", "TRUE"}, {"value", "a"}, {"rc", "0"}}},
	{"slurm init", V1{}, "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n",
		Message{{"cmd", "response_to_init"}, {"rc", "0"}, {"pmi_version", "2"}, {"pmi_subversion", "0"}}},
	{"slurm fullinit", V2{}, "114   cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=0;size=4;appnum=-1;debugged=FALSE;pmiverbose=FALSE;",
		Message{{"cmd", "fullinit-response"}, {"rc", "0"}, {"pmi-version", "2"}, {"pmi-subversion", "0"}, {"rank", "0"},
			{"size", "4"},
			{"appnum", "-1"}, {"debugged", "FALSE"}, {"pmiverbose", "FALSE"}}},
	{"slurm none", V2{}, "38    cmd=kvs-get-response;rc=0;found=FALSE;",
		Message{{"cmd", "kvs-get-response"}, {"rc", "0"}, {"found", "FALSE"}}},
}

func TestGolden(t *testing.T) {
	for _, g := range golden {
		m, n, err := g.d.Next([]byte(g.data + "more"))
		if err != nil || n != len(g.data) || !reflect.DeepEqual(m, g.want) {
			t.Errorf("%s: %v, %d of %d bytes, %v", g.name, m, n, len(g.data), err)
		}
		for cut := range len(g.data) {
			if m, n, err := g.d.Next([]byte(g.data[:cut])); m != nil || n != 0 || err != nil {
				t.Errorf("%s cut at %d: %v, %d, %v", g.name, cut, m, n, err)
			}
		}
	}
}

// TestAppend compares with messages that hydra and Slurm have accepted.
func TestAppend(t *testing.T) {
	for _, c := range []struct {
		d    Dialect
		m    Message
		want string
	}{
		{V1{}, Message{{"cmd", "get"}, {"kvsname", "k"}, {"key", "a"}}, "cmd=get kvsname=k key=a\n"},
		{V2{}, Message{{"cmd", "kvs-put"}, {"key", "k0"}, {"value", "a;b0"}}, "    31cmd=kvs-put;key=k0;value=a;;b0;"},
	} {
		if got := string(c.d.Append([]byte("x"), c.m)); got != "x"+c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		d    Dialect
		data string
	}{
		{V1{}, "\n"}, {V1{}, "hello there\n"}, {V1{}, "=a\n"}, {V1{}, "rc=0 cmd=a\n"},
		{V1{}, strings.Repeat("a=b ", 65) + "\n"}, {V1{}, strings.Repeat("x", MaxMessage)},
		{V2{}, "cmd=init pmi"}, {V2{}, "     0cmd"}, {V2{}, "    -1cmd"}, {V2{}, "999999cmd=a;"}, {V2{}, "     4cmd="},
		{V2{}, "     5cmd;="}, {V2{}, "     5rc=0;"},
	} {
		if m, n, err := c.d.Next([]byte(c.data)); err == nil {
			t.Errorf("%.40q became %v, %d bytes", c.data, m, n)
		}
	}
}

func TestCheck(t *testing.T) {
	ok := Message{{"cmd", "put_result"}, {"rc", "0"}}
	if err := ok.Check("put_result"); err != nil {
		t.Error(err)
	}
	if ok.Check("get_result") == nil || (Message{{"cmd", "a"}, {"rc", "-1"}}).Check("a") == nil {
		t.Error("a refusal was accepted as success")
	}
}

func TestNames(t *testing.T) {
	l := Limits{Key: 64, Value: 1024}
	long := strings.Repeat("a", 200)
	seen := map[string]string{}
	for _, key := range []string{"ep/3", "", "a b", "a+1", "x=y", "x;y", long, long + "b", "#q"} {
		name := l.Name(key)
		if len(Part(name, 99999)) >= l.Key || strings.ContainsAny(name, " =;+\n") || name == "" {
			t.Errorf("%q is %q", key, name)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %q", key, other, name)
		}
		seen[name] = key
	}
	if l.Name("ep/3") != "ep/3" {
		t.Error("a plain key is changed")
	}
}

func TestValues(t *testing.T) {
	for _, l := range []Limits{{64, 1024}, {40, 40}} {
		for _, n := range []int{0, 1, 2, 700, 762, 763, 10000, MaxValue} {
			value := bytes.Repeat([]byte{0, 0xff, ' ', ';', '='}, n/5+1)[:n]
			parts, err := l.Split(value)
			if err != nil {
				t.Fatal(err)
			}
			count, err := l.Count(parts[0])
			if err != nil || count != len(parts) {
				t.Fatalf("%d bytes: %d parts, count %d, %v", n, len(parts), count, err)
			}
			for i, p := range parts {
				if len(p) >= l.Value || strings.ContainsAny(p, " =;\n") || len(Part("", i)) > partDigits {
					t.Fatalf("%d bytes: part %d is %q", n, i, p)
				}
			}
			if back, err := Join(parts); err != nil || !bytes.Equal(back, value) {
				t.Fatalf("%d bytes come back as %d, %v", n, len(back), err)
			}
		}
		if _, err := l.Split(make([]byte, MaxValue+1)); err == nil {
			t.Error("a value that is too long was accepted")
		}
	}
	for _, bad := range []string{"", "a", "0:", "-1:", "99999999:", ":"} {
		if n, err := (Limits{64, 1024}).Count(bad); err == nil {
			t.Errorf("%q has %d parts", bad, n)
		}
	}
}

func FuzzNext(f *testing.F) {
	for _, g := range golden {
		f.Add([]byte(g.data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, n, err := V2{}.Next(data)
		if n > len(data) || err == nil && (n == 0) != (m == nil) {
			t.Fatalf("%v, %d of %d bytes, %v", m, n, len(data), err)
		}
		if n > 0 { // an accepted message is encoded to an equal one
			again, _, err := V2{}.Next(V2{}.Append(nil, m))
			if err == nil && !reflect.DeepEqual(m, again) {
				t.Fatalf("%v became %v", m, again)
			}
		}
		if m, n, err := (V1{}).Next(data); n > len(data) || err == nil && (n == 0) != (m == nil) {
			t.Fatalf("%v, %d of %d bytes, %v", m, n, len(data), err)
		}
	})
}

func FuzzJoin(f *testing.F) {
	f.Add("2:abcd", "efgh")
	f.Fuzz(func(t *testing.T, a, b string) {
		if v, err := Join([]string{a, b}); err == nil && len(v) > MaxValue {
			t.Fatal(len(v))
		}
		Limits{64, 1024}.Count(a)
	})
}
