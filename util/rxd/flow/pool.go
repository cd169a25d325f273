package flow

import "cmp"

// pageSize is the size of the buffers for data behind holes, in bytes.
const pageSize = 16 << 10

// Free items that a pool keeps. The garbage collector gets those beyond.
const (
	pagesKept  = 256
	statesKept = 64
)

// Pool holds the memory that the busy flows of an endpoint share. It is not safe for concurrent use.
//
// A busy flow needs a ring of segments, and pages for data behind holes. An idle flow has neither, so an endpoint
// with many peers uses memory only for the busy ones.
type Pool struct {
	// Budget limits the bytes of data behind holes that all flows together keep. The flows drop data beyond it, and
	// the peers send it again. 0: BudgetDefault. A page counts as a whole.
	Budget int

	used      int // bytes of pages handed out
	pages     []*[pageSize]byte
	senders   []*sender
	receivers []*receiver
	// OutSenders, OutReceivers and OutPages count what flows hold at present. Tests use them to find leaks.
	OutSenders, OutReceivers, OutPages int
}

// BudgetDefault is the default of Pool.Budget, in bytes.
const BudgetDefault = 256 << 20

// affords reports whether the budget has room for n more pages.
func (p *Pool) affords(n int) bool {
	budget := cmp.Or(p.Budget, BudgetDefault)
	return p.used+n*pageSize <= budget
}

// page returns a page. The caller has asked affords before.
func (p *Pool) page() *[pageSize]byte {
	p.used += pageSize
	p.OutPages++
	if n := len(p.pages); n > 0 {
		b := p.pages[n-1]
		p.pages[n-1] = nil
		p.pages = p.pages[:n-1]
		return b
	}
	return new([pageSize]byte)
}

// putPage takes a page back.
func (p *Pool) putPage(b *[pageSize]byte) {
	p.used -= pageSize
	p.OutPages--
	if len(p.pages) < pagesKept {
		p.pages = append(p.pages, b)
	}
}

// sender returns an empty transmitting half.
func (p *Pool) sender() *sender {
	p.OutSenders++
	if n := len(p.senders); n > 0 {
		s := p.senders[n-1]
		p.senders[n-1] = nil
		p.senders = p.senders[:n-1]
		return s
	}
	return &sender{segs: make([]segment, ringFirst)}
}

// putSender takes a transmitting half back. A ring that has grown beyond ringKept goes to the garbage collector.
// clear drops the references to the application's buffers.
func (p *Pool) putSender(s *sender) {
	p.OutSenders--
	if len(p.senders) < statesKept && len(s.segs) <= ringKept {
		segs := s.segs
		clear(segs)
		*s = sender{segs: segs}
		p.senders = append(p.senders, s)
	}
}

// receiver returns a receiving half without pages.
func (p *Pool) receiver() *receiver {
	p.OutReceivers++
	if n := len(p.receivers); n > 0 {
		r := p.receivers[n-1]
		p.receivers[n-1] = nil
		p.receivers = p.receivers[:n-1]
		return r
	}
	return &receiver{}
}

// putReceiver takes back a receiving half. It must hold no page any more.
func (p *Pool) putReceiver(r *receiver) {
	p.OutReceivers--
	if len(p.receivers) < statesKept {
		*r = receiver{pages: r.pages, spans: r.spans[:0]}
		p.receivers = append(p.receivers, r)
	}
}
