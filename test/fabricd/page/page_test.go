//go:build linux

package page

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
)

const (
	tableReady = `document.querySelectorAll("#links tbody tr").length == 2`
	loss       = `document.querySelector("#fault-loss")`
)

// TestFaults breaks a link with the page's controls. The fabric, the map and the table must follow.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := emulate(t, "pair")
	b := open(t)
	b.do(chromedp.Navigate(s.link))
	b.until(tableReady)
	if where := b.value("location.href"); strings.Contains(where, "token") {
		t.Errorf("the token is still in the address bar: %s", where)
	}
	if cookies := b.value("document.cookie"); cookies != "" {
		t.Errorf("cookies: %s", cookies)
	}
	if head := b.value(`document.querySelector("#fabric").textContent`); head != "pair, seed 18446744073709551557" {
		t.Errorf("the heading is %q", head)
	}
	s.run("n1", "pingpong", "-p", "udp;ofi_rxd", "-e", "rdm", "-I", "100000000", "-S", "1024")
	s.run("n2", "pingpong", "-p", "udp;ofi_rxd", "-e", "rdm", "-I", "100000000", "-S", "1024", "10.77.0.1")
	b.until(`document.querySelectorAll("#processes .process").length == 2 && document.querySelectorAll(".histograms rect").length > 3`)

	b.do(chromedp.Focus("#fault-loss"), chromedp.KeyEvent(strings.Repeat(kb.ArrowRight, 10)))
	b.until(`document.querySelector("#links tbody").textContent.includes("loss 5 %")`)
	l := s.fabric().Links[0]
	if l.AB.Faults.Loss != 0.05 || l.BA.Faults.Loss != 0.05 {
		t.Errorf("the slider is at 5 %%, the link loses %v and %v", l.AB.Faults.Loss, l.BA.Faults.Loss)
	}
	b.until(`document.querySelector("#map-labels").textContent.includes("loss 5 %") && document.querySelectorAll(".way.faulty").length == 2`)
	// The column counts lost frames.
	b.until(`Number(document.querySelector("#links tbody tr").cells[6].textContent.replaceAll(",", "")) > 0`)
	// The column counts retransmissions.
	b.until(`Number(document.querySelector("#processes tbody tr").cells[7].textContent.replaceAll(",", "")) > 0`)
	for _, l := range []look{{"light", 1280, 900, "light", false}, {"dark", 1280, 900, "dark", false},
		{"phone", 390, 844, "light", true}} {
		b.as(l)
		if wide := b.value("document.documentElement.scrollWidth <= innerWidth"); wide != "true" {
			t.Errorf("%s: the page is wider than its window", l.name)
		}
		b.picture("pair-" + l.name)
	}
	stops(t, b, s)
}

// stops stops one of the processes. The page must list it as stuck until it continues.
func stops(t *testing.T, b *browser, s *site) {
	t.Helper()
	var all api.Processes
	s.ask("GET", "/v1/processes", nil, &all)
	pid := all.Processes[0].PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	b.until(fmt.Sprintf(`document.querySelector("#stuck.some tbody")?.textContent.includes("ofi %d")`, pid))
	b.picture("stuck")
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.until(`!document.querySelector("#stuck tbody").textContent.includes("does not answer")`)
}

// TestWithoutFabric shows a daemon that emulates no fabric.
func TestWithoutFabric(t *testing.T) {
	need.Asked(t, "it takes a browser a long time")
	s := plain(t)
	b := open(t)
	s.ask("PUT", api.NamePath("job/1"), api.Registration{Address: "fi_sockaddr_in://10.0.0.1:7471", Lease: "1m"}, nil)
	b.do(chromedp.Navigate(s.link))
	b.until(`document.querySelectorAll("#names tbody tr").length == 1`)
	if hidden := b.value(`document.querySelector("#emulation").hidden`); hidden != "true" {
		t.Error("the page shows a fabric, but there is none")
	}
	b.picture("plain")
	s.ask("DELETE", api.NamePath("job/1"), nil, nil)
	b.until(`document.querySelectorAll("#names tbody tr").length == 0 && document.querySelector("#names").textContent.includes("is empty")`)
}

// TestOneWay changes one direction of a link, takes the link down, and removes all faults.
func TestOneWay(t *testing.T) {
	need.Asked(t, "it takes a browser a long time")
	s := emulate(t, "pair")
	b := open(t)
	b.do(chromedp.Navigate(s.link))
	b.until(tableReady)
	b.do(chromedp.SetValue("#direction", "ba"), chromedp.Evaluate[chromedp.Void](`void document.querySelector("#direction").dispatchEvent(new Event("change"))`),
		chromedp.Focus("#fault-delay_ms"), chromedp.KeyEvent(strings.Repeat(kb.ArrowRight, 5)))
	b.until(`document.querySelector("#links tbody").rows[1].textContent.includes("delay 1 ms")`)
	if l := s.fabric().Links[0]; l.AB.Faults.DelayMS != 0 || l.BA.Faults.DelayMS != 1 {
		t.Errorf("delays of %v and %v ms, not of 0 and 1", l.AB.Faults.DelayMS, l.BA.Faults.DelayMS)
	}
	b.do(chromedp.Click("#up"))
	b.until(`document.querySelectorAll("#links tr.down").length == 2`)
	if s.fabric().Links[0].Up {
		t.Error("the link is still up")
	}
	b.do(chromedp.Click("#all-perfect"))
	b.until(`document.querySelectorAll("#links tr.faulty").length == 0 && document.querySelector("#up").checked`)
	if l := s.fabric().Links[0]; !l.Up || l.BA.Faults.DelayMS != 0 {
		t.Errorf("the link is not healed: %+v", l)
	}
	b.do(chromedp.Click(`#sides input[value="n1"]`), chromedp.Click("#cut"))
	b.until(`document.querySelector("#groups").textContent == "Apart: n1 | n2"`)
	if p := s.fabric().Partitions; len(p) == 0 {
		t.Error("there is no partition")
	}
	b.do(chromedp.Click("#heal"))
	b.until(`document.querySelector("#heal").disabled`)
	if p := s.fabric().Partitions; len(p) != 0 {
		t.Errorf("the partition %v is still there", p)
	}
}

// TestHold holds a slider while the page refreshes and another client changes the fault. The slider stays where it is
// held, and follows the fault when it is released.
func TestHold(t *testing.T) {
	need.Asked(t, "it takes a browser a long time")
	s := emulate(t, "pair")
	b := open(t)
	b.do(chromedp.Navigate(s.link))
	b.until(tableReady)
	box := func(part string) float64 {
		return get(b, chromedp.Evaluate[float64](loss+`.getBoundingClientRect().`+part))
	}
	x, y := box("left")+box("width")/2, box("top")+box("height")/2
	b.do(chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.until(`document.querySelector("#links tbody").textContent.includes("loss 3 %")`) // the middle step
	s.change("n1-n2", api.LinkChange{Faults: &api.FaultsChange{Loss: new(0.5)}})
	b.until(`document.querySelector("#links tbody").textContent.includes("loss 50 %")`)
	b.refreshed()
	if v := b.value(`document.querySelector("#fault-loss-value").textContent`); v != "3 %" {
		t.Errorf("the slider jumped to %s while it was held", v)
	}
	b.do(chromedp.MouseEvent(chromedp.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.until(`document.querySelector("#fault-loss-value").textContent == "50 %"`)
}
