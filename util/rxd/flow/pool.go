package flow

// pageSize is the size of the buffers that hold data after a hole, bytes.
const pageSize = 16 << 10

// pagesKept and statesKept are how many free ones a pool keeps, beyond which they go to the garbage collector.
const (
	pagesKept  = 256
	statesKept = 64
)

// Pool holds the memory that the busy flows of an endpoint share. It is not safe for concurrent use.
type Pool struct {
	// Budget is how many bytes of data after holes all flows together keep; beyond it such data is dropped, and the peer sends it again. 0: BudgetDefault.
	Budget int

	used      int // bytes in pages handed out
	pages     []*[pageSize]byte
	senders   []*sender
	receivers []*receiver
	// OutSenders, OutReceivers and OutPages count what is handed out, for leak checks.
	OutSenders, OutReceivers, OutPages int
}

// BudgetDefault is the budget of a Pool whose Budget is 0, bytes.
const BudgetDefault = 256 << 20

// affords reports whether the budget has room for n pages more.
func (p *Pool) affords(n int) bool {
	budget := p.Budget
	if budget == 0 {
		budget = BudgetDefault
	}
	return p.used+n*pageSize <= budget
}

// page returns a page, which affords has allowed.
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

func (p *Pool) putPage(b *[pageSize]byte) {
	p.used -= pageSize
	p.OutPages--
	if len(p.pages) < pagesKept {
		p.pages = append(p.pages, b)
	}
}

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

func (p *Pool) putSender(s *sender) {
	p.OutSenders--
	if len(p.senders) < statesKept && len(s.segs) <= ringKept {
		segs := s.segs
		clear(segs)
		*s = sender{segs: segs}
		p.senders = append(p.senders, s)
	}
}

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

// putReceiver takes back a receiver that holds no page.
func (p *Pool) putReceiver(r *receiver) {
	p.OutReceivers--
	if len(p.receivers) < statesKept {
		*r = receiver{pages: r.pages, spans: r.spans[:0]}
		p.receivers = append(p.receivers, r)
	}
}
