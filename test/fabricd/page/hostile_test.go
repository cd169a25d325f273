//go:build linux

package page

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/report"
	"gofabric/test/need"
)

// evil is a name that contains HTML with a script.
const evil = `<img src=x onerror="document.title='evil'">`

// evilProcess returns a report with evil in every text that a process chooses, and with several endpoints, peers and
// stalls of that name.
func evilProcess() *telemetry.Process {
	peers := []telemetry.Peer{{Address: evil, State: evil}, {Address: evil, State: evil}}
	e := telemetry.Endpoint{ID: evil, Provider: evil, Address: evil, Interface: evil, Type: evil, Peers: peers,
		Counters: telemetry.Counts{evil: 1, "rtt": 1}}
	stall := telemetry.Stall{What: evil, Provider: evil, Interface: evil, Local: evil, Peer: evil,
		State: evil, Since: time.Unix(1, 0)}
	return &telemetry.Process{Version: telemetry.Version, Name: evil, Command: evil, Since: time.Now(),
		Totals:    []telemetry.Total{{Provider: evil}},
		Endpoints: []telemetry.Endpoint{e, e, e}, Stalls: []telemetry.Stall{stall, stall}}
}

// pretend registers such a process and answers for it until end is called or the test ends.
func (s *site) pretend() (end func()) {
	s.t.Helper()
	conn, err := net.Dial("unix", filepath.Join(s.dir, fabricd.Stats))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if err := report.WriteFrame(conn, report.Reply{Process: evilProcess()}, report.MaxRequest); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		var q report.Request
		for report.ReadFrame(conn, &q, report.MaxRequest) == nil &&
			report.WriteFrame(conn, report.Reply{Seq: q.Seq, Process: evilProcess()}, report.MaxFrame) == nil {
		}
	}()
	return func() { conn.Close() }
}

// TestHostile shows names, processes, endpoints, peers and stalls that contain HTML and have equal names. The page
// shows them as text, and does not accumulate elements.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := plain(t)
	s.ask("PUT", api.NamePath("job/"+evil), api.Registration{Address: "fi_sockaddr_in://10.0.0.1:7471"}, nil)
	s.ask("PUT", api.NamePath("job/1"), api.Registration{Address: evil, Lease: "1m"}, nil)
	s.pretend()
	b := open(t)
	b.do(chromedp.Navigate(s.link))
	b.until(`document.querySelectorAll("#names tbody tr").length == 2 && document.querySelectorAll(".process").length == 1 && document.querySelectorAll("#stuck tbody tr").length == 2`)
	const elements = `document.querySelectorAll("*").length`
	const endpoints = `document.querySelectorAll(".process > .wide tbody tr").length`
	b.refreshed()
	before := b.value(elements)
	b.refreshed()
	if after := b.value(elements); after != before || b.value(endpoints) != "3" {
		t.Errorf("the page grew from %s to %s elements, with %s rows for 3 endpoints",
			before, after, b.value(endpoints))
	}
	if n := b.value(`document.querySelectorAll("main img").length`); n != "0" {
		t.Errorf("%s names have become elements", n)
	}
	if title := b.value("document.title"); title != "fabricd" {
		t.Errorf("the title is %q", title)
	}
	for _, where := range []string{"#names tbody", "#stuck tbody", ".process h3", ".process .note",
		".process > .wide tbody", ".process details tbody"} {
		if got := b.value(`document.querySelector("` + where + `").textContent`); !strings.Contains(got, evil) {
			t.Errorf("%s contains %q instead of the evil name", where, got)
		}
	}
	b.picture("hostile")
}

// TestAway ends the daemon and starts another. The page reports it, asks for the new token, and continues.
func TestAway(t *testing.T) {
	need.Asked(t, "it takes a browser a long time")
	s := newSite(t)
	first := s.begin(s.fabricd("run", "--dir", s.dir, "--page", "127.0.0.1:0"))
	s.link = s.page()
	b := open(t)
	b.do(chromedp.Navigate(s.link))
	const shown = `document.querySelector("#status").textContent.startsWith("up for") && !document.querySelector("#away").textContent`
	b.until(shown)
	b.expect("ERR_", "401") // of requests without an answer, and of the one with the old token
	s.end(first)
	b.until(`document.querySelector("#away").textContent.includes("fabricd page opens it") && document.body.classList.contains("stale")`)
	b.picture("away")
	address, _, _ := strings.Cut(strings.TrimPrefix(s.link, "https://"), "/")
	s.start(s.fabricd("run", "--dir", s.dir, "--page", address))
	b.until(`document.querySelector("#away").textContent.includes("not valid") && document.activeElement.id == "token"`)
	b.picture("again")
	_, token, _ := strings.Cut(s.page(), "token=")
	b.do(chromedp.SendKeys("#token", token+"\r"))
	b.until(shown)
}
