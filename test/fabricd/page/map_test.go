//go:build linux

package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
)

// spines is a leaf-spine fabric of eight nodes.
const spines = `
name: eight
nodes: [n1, n2, n3, n4, n5, n6, n7, n8]
switches: [leaf1, leaf2, leaf3, leaf4, spine1, spine2]
links:
  - between: [n1, leaf1]
  - between: [n2, leaf1]
  - between: [n3, leaf2]
  - between: [n4, leaf2]
  - between: [n5, leaf3]
  - between: [n6, leaf3]
  - between: [n7, leaf4]
  - between: [n8, leaf4]
  - between: [leaf1, spine1]
  - between: [leaf1, spine2]
  - between: [leaf2, spine1]
  - between: [leaf2, spine2]
  - between: [leaf3, spine1]
  - between: [leaf3, spine2]
  - between: [leaf4, spine1]
  - between: [leaf4, spine2]
`

// overlaps counts the pairs of labels and nodes of the map that cover one another.
const overlaps = `(() => {
	const all = [...document.querySelectorAll("#map-labels > g:not([visibility]) > rect, #map-things circle, #map-things rect")].map(e => e.getBoundingClientRect());
	return all.flatMap((a, i) => all.slice(i + 1).filter(b => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
})()`

// TestMap draws a larger fabric with faults. Nothing covers anything else, nothing moves, and a link can be selected
// by mouse and by key.
func TestMap(t *testing.T) {
	need.Asked(t, "it takes a browser a long time")
	file := filepath.Join(t.TempDir(), "eight.yaml")
	if err := os.WriteFile(file, []byte(spines), 0o600); err != nil {
		t.Fatal(err)
	}
	s := emulate(t, file)
	b := open(t)
	b.do(chromedp.Navigate(s.link))
	b.until(`document.querySelectorAll("#links tbody tr").length == 32`)
	const places = `JSON.stringify([...document.querySelectorAll("#map-things circle, #map-things rect, #links td:first-child")].map(e => e.getBoundingClientRect()))`
	before := b.value(places)
	s.change("leaf3-spine1", api.LinkChange{Faults: &api.FaultsChange{Loss: new(0.05), DelayMS: new(1.0)}})
	s.change("leaf2-spine2", api.LinkChange{Up: new(false)})
	s.change("n5-leaf3", api.LinkChange{Direction: "ab",
		Faults: &api.FaultsChange{RateMbit: new(100.0), Corrupt: new(0.001)}})
	s.run("n1", "pingpong", "-p", "tcp", "-e", "rdm", "-I", "100000000", "-S", "65536")
	s.run("n8", "pingpong", "-p", "tcp", "-e", "rdm", "-I", "100000000", "-S", "65536",
		s.fabric().Nodes[0].Addresses[0])
	b.until(`document.querySelectorAll("#processes .process").length == 2 && document.querySelectorAll(".way.busy").length > 6 && document.querySelectorAll(".way.down").length == 2`)
	b.refreshed()
	if n := b.value(overlaps); n != "0" {
		t.Errorf("%s pairs of labels and nodes cover one another", n)
	}
	if after := b.value(places); after != before {
		t.Errorf("the page moved from\n%s to\n%s", before, after)
	}
	b.do(chromedp.Click(`#map-links [data-key="n2-leaf1"] .hit`))
	b.until(`document.querySelector("#link").value == "n2-leaf1"`)
	b.do(chromedp.Focus(`#map-links [data-key="n3-leaf2"]`), chromedp.KeyEvent("\r"))
	b.until(`document.querySelector("#link").value == "n3-leaf2" && document.querySelectorAll("#links tr.selected").length == 2`)
	const busy = `document.querySelector("#links tbody tr").cells[3].textContent != "0 bit/s"`
	// A selected link still shows its rate.
	b.until(busy + ` && (document.querySelector("#links button").click(), ` + busy + `)`)
	for _, l := range []look{{"light", 1280, 900, "light", false}, {"dark", 1280, 900, "dark", false},
		{"phone", 390, 844, "dark", true}} {
		b.as(l)
		if wide := b.value("document.documentElement.scrollWidth <= innerWidth"); wide != "true" {
			t.Errorf("%s: the page is wider than its window", l.name)
		}
		b.picture("eight-" + l.name)
	}
}

// TestBeside checks that two links between the same two nodes are drawn beside each other.
func TestBeside(t *testing.T) {
	need.Asked(t, "it takes a browser a long time")
	file := filepath.Join(t.TempDir(), "two.yaml")
	if err := os.WriteFile(file, []byte("name: two\nnodes: [n1, n2]\nlinks:\n  - {between: [n1, n2], id: first, loss: 1%}\n  - {between: [n2, n1], id: second, loss: 2%}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := emulate(t, file)
	b := open(t)
	b.do(chromedp.Navigate(s.link))
	b.until(`document.querySelectorAll("#links tbody tr").length == 4`)
	if n := b.value(`new Set([...document.querySelectorAll(".way")].map(e => e.getAttribute("y1"))).size`); n != "4" {
		t.Errorf("the four lines of two links have %s positions", n)
	}
	if n := b.value(overlaps); n != "0" {
		t.Errorf("%s pairs of labels and nodes cover one another", n)
	}
	b.picture("two")
}
