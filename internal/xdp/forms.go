//go:build linux

package xdp

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
)

// form is one of the two forms of the program in generic mode. In that mode the kernel makes headroom for the program
// before each packet that comes over veth, by copying it (net/core/dev.c, netif_skb_check_for_xdp). A flag of the
// program selects how.
type form uint8

const (
	fragsForm form = iota // with BPF_F_XDP_HAS_FRAGS: the copy may have fragments, from a pool of pages
	// Without the flag the copy is linear, one allocation. A short packet takes a tenth less time, but a GSO packet
	// of 64 KiB needs 128 KiB of contiguous memory.
	linearForm
)

// forms is the present form of the program, and the state that changes it. The program is linear until a packet comes
// that is longer than those it redirects, such as a GSO packet of TCP. It becomes linear again when none has come for
// a while. So if memory is fragmented, only the first long packets may be lost.
type forms struct {
	is     form          // the form that is attached; guarded by program.mu
	linear *ebpf.Program // nil: there is only fragsForm
	quiet  time.Duration // linearAfter, except in tests
	events *ringbuf.Reader
	ended  chan struct{}

	failed uint64 // number of changes that the kernel refused
	err    error  // why the last change was refused, or nil
}

// linearAfter is the time without long packets after which the program becomes linear again.
const linearAfter = 5 * time.Second

// formRetry is the pause before a change to fragsForm that the kernel has refused is tried again. It doubles each
// time, up to linearAfter.
const formRetry = 10 * time.Millisecond

// loadLinear loads the linear form, which attach then uses. If the kernel refuses it, there is only one form.
func (p *program) loadLinear() {
	if !p.frags {
		return
	}
	prog, err := ebpf.NewProgram(p.spec(false))
	if err != nil {
		return
	}
	events, err := ringbuf.NewReader(p.events)
	if err != nil {
		prog.Close()
		return
	}
	p.mu.Lock()
	p.forms = forms{is: linearForm, linear: prog, quiet: linearAfter, events: events, ended: make(chan struct{})}
	p.mu.Unlock()
	go p.watchLong()
}

// form returns the program to attach.
func (p *program) form(mode Mode) *ebpf.Program {
	if mode == Generic && p.forms.is == linearForm {
		return p.forms.linear
	}
	return p.prog
}

// setForm changes the form with BPF_LINK_UPDATE, which leaves no gap and may take the kernel some milliseconds. It
// reports whether the program now has the form f.
func (p *program) setForm(f form) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.forms.is == f:
		return true
	case p.link == nil:
		return false
	}
	to := p.prog
	if f == linearForm {
		to = p.forms.linear
	}
	if p.forms.err = p.link.Update(to); p.forms.err != nil {
		p.forms.failed++
		return false
	}
	p.forms.is = f
	return true
}

// watchLong changes the form as packets need it, until stopForms.
func (p *program) watchLong() {
	defer close(p.forms.ended)
	for end := false; !end; {
		if _, end = p.waitLong(0); !end {
			end = p.untilNoLong()
		}
	}
}

// untilNoLong sets fragsForm, and linearForm when no more long packets come. It reports whether stopForms was called.
func (p *program) untilNoLong() (end bool) {
	p.mu.Lock()
	quiet := p.forms.quiet
	p.mu.Unlock()
	for {
		for wait := formRetry; !p.setForm(fragsForm); wait = min(2*wait, quiet) {
			if _, end := p.waitLong(wait); end { // the program reports no more packets until longSeen is 0
				return true
			}
		}
		if _, end := p.waitLong(quiet); end {
			return true
		}
		if p.longSeen.Put(uint32(0), uint32(0)) != nil {
			return true
		}
		came, end := p.waitLong(quiet)
		if end {
			return true
		}
		if !came && p.setForm(linearForm) {
			return false
		}
	}
}

// formStatus describes the changes that the kernel refused, for Interface.String. It is empty if there are none.
func (p *program) formStatus() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.forms
	switch {
	case f.failed == 0:
		return ""
	case f.err == nil:
		return fmt.Sprintf(", %d updates of the XDP program refused", f.failed)
	case f.is == linearForm:
		return fmt.Sprintf(", %d updates of the XDP program refused: it makes long packets linear, and may lose some: %v", f.failed, f.err)
	}
	return fmt.Sprintf(", %d updates of the XDP program refused: the slower program stays: %v", f.failed, f.err)
}

// waitLong waits until the program reports a long packet, up to the time within, or without a limit if that is 0. end
// means that stopForms was called.
func (p *program) waitLong(within time.Duration) (came, end bool) {
	until := time.Time{}
	if within > 0 {
		until = time.Now().Add(within)
	}
	p.forms.events.SetDeadline(until)
	_, err := p.forms.events.Read()
	return err == nil, err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// stopForms ends watchLong.
func (p *program) stopForms() {
	if p.forms.events == nil {
		return
	}
	p.forms.events.Close()
	<-p.forms.ended
	p.forms.linear.Close()
}
