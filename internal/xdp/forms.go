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

// form is one of two that the program has in generic mode, where the kernel makes room before each packet that comes over a virtual cable (net/core/dev.c,
// netif_skb_check_for_xdp).
type form uint8

const (
	wide form = iota // with BPF_F_XDP_HAS_FRAGS: what is in several pieces stays so, and the room is made of a pool of pages
	lean             // without: all is made one piece, with one allocation. It is a tenth quicker for short packets, but a run of 64 KiB takes 128 KiB in one piece
)

// forms is which of its forms the program has, and who changes that: it is lean until a packet comes that is longer than those that are taken, such as a run of TCP's,
// and again when none has come for a while. So a machine whose memory has no large pieces left loses a few of the first at most.
type forms struct {
	is    form          // that it has, or will be attached with; guarded by program.mu
	lean  *ebpf.Program // nil: there is only the wide one
	calm  time.Duration // formCalm
	news  *ringbuf.Reader
	ended chan struct{}

	failed uint64 // changes that the kernel refused
	err    error  // of the last change; nil: it was made
}

// formCalm is how long no long packet must have come for the program to be lean again, and how long it stays wide at least.
const formCalm = 5 * time.Second

// formRetry is when the wide form is tried again that the kernel refused; doubled each time, up to formCalm.
const formRetry = 10 * time.Millisecond

// haveForms gives the program its lean form, to be attached with, if the kernel lets it.
func (p *program) haveForms() {
	if !p.frags {
		return
	}
	prog, err := ebpf.NewProgram(p.spec(false))
	if err != nil {
		return
	}
	news, err := ringbuf.NewReader(p.news)
	if err != nil {
		prog.Close()
		return
	}
	p.mu.Lock()
	p.forms = forms{is: lean, lean: prog, calm: formCalm, news: news, ended: make(chan struct{})}
	p.mu.Unlock()
	go p.follow()
}

// form is the program in the form that it is to have.
func (p *program) form(mode Mode) *ebpf.Program {
	if mode == Generic && p.forms.is == lean {
		return p.forms.lean
	}
	return p.prog
}

// become changes the form, without a gap; it may take the kernel some milliseconds. It reports whether the program has that now: while it has stepped aside it stays
// wide, for long packets come. What the kernel refuses is counted.
func (p *program) become(f form) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.forms.is == f:
		return true
	case p.link == nil:
		return false
	}
	to := p.prog
	if f == lean {
		to = p.forms.lean
	}
	if p.forms.err = p.link.Update(to); p.forms.err != nil {
		p.forms.failed++
		return false
	}
	p.forms.is = f
	return true
}

// follow changes the form as the packets want it, until the end.
func (p *program) follow() {
	defer close(p.forms.ended)
	for end := false; !end; {
		if _, end = p.hear(0); !end {
			end = p.serveLong()
		}
	}
}

// serveLong makes the program wide, and lean when no long packets come any more. It reports whether all has ended.
func (p *program) serveLong() (end bool) {
	p.mu.Lock()
	calm := p.forms.calm
	p.mu.Unlock()
	for {
		for wait := formRetry; !p.become(wide); wait = min(2*wait, calm) {
			if _, end := p.hear(wait); end { // nothing more is said before long is 0
				return true
			}
		}
		if _, end := p.hear(calm); end {
			return true
		}
		if p.long.Put(uint32(0), uint32(0)) != nil {
			return true
		}
		came, end := p.hear(calm)
		if end {
			return true
		}
		if !came && p.become(lean) {
			return false
		}
	}
}

// says tells of changes that the kernel refused, nothing if there were none.
func (p *program) says() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.forms
	switch {
	case f.failed == 0:
		return ""
	case f.err == nil:
		return fmt.Sprintf(", %d changes of the program's form refused", f.failed)
	case f.is == lean:
		return fmt.Sprintf(", %d changes of the program's form refused: it makes long packets one piece, and may lose some: %v", f.failed, f.err)
	}
	return fmt.Sprintf(", %d changes of the program's form refused: it is the slower one: %v", f.failed, f.err)
}

// hear waits for word of a long packet, for a time or, with 0, for ever.
func (p *program) hear(within time.Duration) (came, end bool) {
	until := time.Time{}
	if within > 0 {
		until = time.Now().Add(within)
	}
	p.forms.news.SetDeadline(until)
	_, err := p.forms.news.Read()
	return err == nil, err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// endForms ends what follows the packets.
func (p *program) endForms() {
	if p.forms.news == nil {
		return
	}
	p.forms.news.Close()
	<-p.forms.ended
	p.forms.lean.Close()
}
