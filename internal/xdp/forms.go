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

// form is one of the two forms of the program in generic mode. There the kernel makes headroom for the program before each packet that comes over veth, by copying it
// (net/core/dev.c, netif_skb_check_for_xdp). How, depends on a flag of the program.
type form uint8

const (
	fragsForm  form = iota // with BPF_F_XDP_HAS_FRAGS: the copy may have fragments, from a pool of pages
	linearForm             // without: the copy is linear, one allocation. Short packets take a tenth less time, but a GSO packet of 64 KiB needs 128 KiB of contiguous memory
)

// forms is the form that the program has, and what changes it. The program is linear until a packet comes that is longer than those it redirects, such as a GSO packet
// of TCP, and again when none has come for a while. So where memory is fragmented, the first long packets may be lost, and no others.
type forms struct {
	is     form          // the form that is attached; guarded by program.mu
	linear *ebpf.Program // nil: there is only fragsForm
	quiet  time.Duration // linearAfter, but in tests
	events *ringbuf.Reader
	ended  chan struct{}

	failed uint64 // changes that the kernel refused
	err    error  // why the last one was refused; nil: it was not
}

// linearAfter is how long no long packet must have come before the program becomes linear again.
const linearAfter = 5 * time.Second

// formRetry is after how long a change to fragsForm that the kernel refused is tried again; doubled each time, up to linearAfter.
const formRetry = 10 * time.Millisecond

// loadLinear loads the linear form, which attach then uses. Where the kernel refuses it, there is one form only.
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

// form is the program to attach.
func (p *program) form(mode Mode) *ebpf.Program {
	if mode == Generic && p.forms.is == linearForm {
		return p.forms.linear
	}
	return p.prog
}

// setForm changes the form with BPF_LINK_UPDATE, which leaves no gap and may take the kernel some milliseconds. It reports whether the program has that form now.
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

// untilNoLong takes fragsForm, and linearForm when no long packets come any more. It reports whether stopForms was called.
func (p *program) untilNoLong() (end bool) {
	p.mu.Lock()
	quiet := p.forms.quiet
	p.mu.Unlock()
	for {
		for wait := formRetry; !p.setForm(fragsForm); wait = min(2*wait, quiet) {
			if _, end := p.waitLong(wait); end { // the program reports no more packets before longSeen is 0
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

// formStatus describes the changes that the kernel refused, for Interface.String; empty: none.
func (p *program) formStatus() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.forms
	switch {
	case f.failed == 0:
		return ""
	case f.err == nil:
		return fmt.Sprintf(", %d changes of the program's form refused", f.failed)
	case f.is == linearForm:
		return fmt.Sprintf(", %d changes of the program's form refused: it makes long packets linear, and may lose some: %v", f.failed, f.err)
	}
	return fmt.Sprintf(", %d changes of the program's form refused: it stays the slower one: %v", f.failed, f.err)
}

// waitLong waits until the program reports a long packet, for a time or, with 0, without a limit. end: stopForms was called.
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
