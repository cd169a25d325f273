package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofabric/cmd/fabricd/internal/emulate/link"
)

// TestReady: every ready topology is valid, and has the addresses in the documentation.
func TestReady(t *testing.T) {
	want := map[string]string{ // addresses of the second node
		"pair": "10.77.0.2/24 fd77::2/64", "star": "10.77.0.2/24 fd77::2/64", "dumbbell": "10.77.0.2/24 fd77::2/64",
		"two-rail": "10.77.0.2/24 fd77::2/64 10.77.1.2/24 fd77:1::2/64", "leaf-spine": "10.77.0.2/24 fd77::2/64",
	}
	for _, name := range Names() {
		top, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, face := range top.Nodes[1].Interfaces {
			for _, p := range face.Addresses {
				got = append(got, p.String())
			}
		}
		if top.Name != name || strings.Join(got, " ") != want[name] {
			t.Errorf("%s is called %s, and %s has %v, want %s", name, top.Name, top.Nodes[1].Name, got, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

const whole = `
name: all
seed: 42
mtu: 9000
nodes: [a, b, c]
switches: [s]
addresses: {b/eth1: 192.168.7.1/30}
defaults: {delay: 1ms, rate: 10gbit}
links:
  - {between: [a, s], loss: 5%, delay: 2ms}
  - between: [b, s]
    delay: 3ms
    ab: {loss: 0.5, burst: 1%/20%, delay: 4ms}
    ba: {rate: 64kbit, queue: 7, queue-bytes: 64k, ecn: 3}
  - {between: [b, c], up: false, jitter: 10us, dup: 1%, reorder: 2%, corrupt: 0.1%}
  - {between: [a, s], id: spare}
  - {between: [a, s]}
schedule:
  - {at: 20s, partition: [[a], [b, c]]}
  - {at: 10s, link: s-a, direction: ba, loss: 10%, up: true}
  - {at: 30s, heal: true}
`

// TestParse: each field of a description is stored in the right place.
func TestParse(t *testing.T) {
	top, err := Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	if top.Name != "all" || top.Seed != 42 || top.MTU != 9000 || len(top.Nodes) != 3 || len(top.Links) != 5 {
		t.Errorf("%+v", top)
	}
	for i, want := range []Link{
		{"a-s", "a", "s", true, link.Faults{Loss: 0.05, Delay: 2 * ms, Rate: 1e10}, link.Faults{Loss: 0.05, Delay: 2 * ms, Rate: 1e10}},
		{"b-s", "b", "s", true, link.Faults{Loss: 0.5, Burst: link.Burst{Enter: 0.01, Leave: 0.2, Loss: 1}, Delay: 4 * ms, Rate: 1e10},
			link.Faults{Delay: 3 * ms, Rate: 64e3, Queue: 7, QueueBytes: 65536, ECN: 3}},
		{"b-c", "b", "c", false, link.Faults{Delay: ms, Rate: 1e10, Jitter: 10 * time.Microsecond, Dup: 0.01, Reorder: 0.02, Corrupt: 0.001},
			link.Faults{Delay: ms, Rate: 1e10, Jitter: 10 * time.Microsecond, Dup: 0.01, Reorder: 0.02, Corrupt: 0.001}},
		{"spare", "a", "s", true, link.Faults{Delay: ms, Rate: 1e10}, link.Faults{Delay: ms, Rate: 1e10}},
		{"a-s-2", "a", "s", true, link.Faults{Delay: ms, Rate: 1e10}, link.Faults{Delay: ms, Rate: 1e10}},
	} {
		if top.Links[i] != want {
			t.Errorf("link %d: %+v, want %+v", i, top.Links[i], want)
		}
	}
	var at []string
	for _, e := range top.Schedule {
		at = append(at, fmt.Sprint(e.At, e.Link, e.Changes, e.Groups))
	}
	if got := strings.Join(at, " "); got != "10sa-s[{ba map[loss:10%]}] [] 20s[] [[a] [b c]] 30s[] []" ||
		!*top.Schedule[0].Up {
		t.Errorf("schedule: %s", got)
	}
	b := top.Nodes[1]
	if len(b.Interfaces) != 2 || b.Interfaces[1].Name != "eth1" || b.Interfaces[1].Addresses[0].String() != "192.168.7.1/30" || b.Interfaces[1].Segment == b.Interfaces[0].Segment {
		t.Errorf("%+v", b)
	}
	if a := top.Nodes[0]; len(a.Interfaces) != 3 || len(a.Interfaces[0].Addresses) != 2 ||
		len(a.Interfaces[1].Addresses) != 0 {
		t.Errorf("%+v", a)
	}
	if top.Link("s-a") != 0 || top.Link("s-spare") != -1 || top.Link("spare") != 3 {
		t.Error("links are not found by their ids")
	}
}

// TestSegments: connected switches, in any order, form one Ethernet segment. Other switches have segments of their
// own.
func TestSegments(t *testing.T) {
	top, err := Parse([]byte(`{nodes: [a, b, c, d], switches: [s1, s2, s3, s4, s5], links: [{between: [s1, s2]}, {between: [s1, s3]}, {between: [s4, s3]},
		{between: [a, s2]}, {between: [b, s4]}, {between: [c, s3]}, {between: [d, s5]}, {between: [a, d]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	of := func(node, face int) int { return top.Nodes[node].Interfaces[face].Segment }
	if of(0, 0) != of(1, 0) || of(0, 0) != of(2, 0) || of(3, 0) == of(0, 0) || of(0, 1) != of(3, 1) ||
		of(0, 1) == of(0, 0) || of(0, 1) == of(3, 0) {
		t.Errorf("%+v", top.Nodes)
	}
}

// TestRefuse: an invalid description is refused with the reason.
func TestRefuse(t *testing.T) {
	const two = "nodes: [a, b]\nlinks: [{between: [a, b]}]\n"
	for text, want := range map[string]string{
		"":                                       "empty",
		"nodes: []":                              "no nodes",
		"nodes: [a, a]":                          "two nodes",
		"nodes: [a]\nswitches: [a]":              "two nodes",
		"nodes: [a-b]":                           "letters",
		"nodes: [a]\nmtu: 100":                   "mtu",
		"nodes: [a]\nwhat: 1":                    "what",
		"nodes: [a]\n---\nnodes: [b]":            "more than one",
		"nodes: [a]\nlinks: [{between: [a]}]":    "two different ends",
		"nodes: [a]\nlinks: [{between: [a, x]}]": "neither",
		"nodes: [a, b]\nlinks: [{between: [a, b], los: 5%}]":                         `no fault "los"`,
		"nodes: [a, b]\nlinks: [{between: [a, b], loss: 105%}]":                      "not a probability",
		"nodes: [a, b]\nlinks: [{between: [a, b], loss: .nan}]":                      "not a probability",
		"nodes: [a, b]\nlinks: [{between: [a, b], delay: 5}]":                        "not a time",
		"nodes: [a, b]\nlinks: [{between: [a, b], delay: 5h}]":                       "between 0 and",
		"nodes: [a, b]\nlinks: [{between: [a, b], rate: fast}]":                      "not a rate",
		"nodes: [a, b]\nlinks: [{between: [a, b], queue: -1}]":                       "not a number",
		"nodes: [a, b]\nlinks: [{between: [a, b], burst: 5%}]":                       "not a burst",
		"nodes: [a, b]\nlinks: [{between: [a, b], id: x}, {between: [a, b], id: x}]": "two links",
		"nodes: [a, b]\nlinks: [{between: [a, b], id: x/y}]":                         "the id",
		two + "addresses: {a/eth1: 10.0.0.1/24}":                                     "not all",
		two + "addresses: {a/eth0: 10.0.0.1}":                                        "not an address",
		two + "addresses: {a/eth0: 10.0.0.1/24, b/eth0: 10.0.0.1/24}":                "same address",
		two + "schedule: [{at: 1s}]":                                                 "one of",
		two + "schedule: [{link: a-b, loss: 1%}]":                                    "at:",
		two + "schedule: [{at: 1s, link: a-c, loss: 1%}]":                            "no link",
		two + "schedule: [{at: 1s, link: a-b}]":                                      "nothing changes",
		two + "schedule: [{at: 1s, link: a-b, loss: 1%, direction: up}]":             "direction",
		two + "schedule: [{at: 1s, link: a-b, loss: 1%, heal: true}]":                "one of",
		two + "schedule: [{at: 1s, partition: [[a], [a]]}]":                          "two groups",
		two + "schedule: [{at: 1s, partition: [[a], [z]]}]":                          "no node",
		two + "schedule: [{at: 1s, heal: true, loss: 1%}]":                           "belong to a link",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(path, []byte(strings.Repeat("#", maxFile+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{path, "no-such"} {
		if _, err := Load(what); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

// FuzzParse: no description makes Parse panic, and an accepted one is valid and complete.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, name := range Names() {
		data, err := Ready(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		top, err := Parse(data)
		if err != nil {
			return
		}
		for i := range top.Links {
			l := &top.Links[i]
			if l.AB.Check() != nil || l.BA.Check() != nil || top.Link(l.ID) != i {
				t.Errorf("%+v", l)
			}
		}
	})
}

// TestLines: an error names the line.
func TestLines(t *testing.T) {
	const text = "nodes:\n- a\n- b\nmtu: 1500\ndefaults: {rate: 1gbit}\nlinks:\n- between: [a, b]\n  loss: 1%\n  ab:\n    delay: 1ms\nschedule:\n- at: 1s\n  link: a-b\n  loss: 2%\naddresses:\n  a/eth0: 10.0.0.1/24\n"
	if _, err := Parse([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		good, bad, want string
	}{
		{"- b\n", "- a\n", "line 3: two nodes"},
		{"- b\n", "- b/\n", "line 3: node"},
		{"1500", "99999", "line 4: mtu"},
		{"rate: 1gbit", "rate: 1e308gbit", "line 5: defaults: "},
		{"rate", "ratte", "line 5: defaults: "},
		{"[a, b]", "[a, c]", "line 7: link 1, [a c]: c is"},
		{"loss: 1%", "loss: -1%", "line 8: link 1, [a b]: loss: "},
		{"loss: 1%", "lost: 1%", "line 8: link 1, [a b]: there is no fault"},
		{"delay: 1ms", "delay: 1", "line 10: link 1, [a b]: delay: "},
		{"delay: 1ms", "delay: 90s", "line 9: link 1, [a b]: delay"},
		{"at: 1s", "at: -1s", "line 12: event 1"},
		{"link: a-b", "link: a-c", "line 12: event 1"},
		{"loss: 2%", "loss: 2", "line 14: event 1"},
		{"10.0.0.1/24", "10.0.0.1", "line 16: addresses"},
	} {
		bad := strings.Replace(text, c.good, c.bad, 1)
		if _, err := Parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) || bad == text {
			t.Errorf("%s for %s: %v, want %q", c.bad, c.good, err, c.want)
		}
	}
}
