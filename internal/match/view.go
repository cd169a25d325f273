// Views: indices of the unexpected messages as the classes of receives that ask most see them.

package match

const (
	maxViews  = 3
	maxCredit = 8
)

// A view indexes all unexpected messages by what receives with one ignore mask, directed or not, compare.
type view[M any] struct {
	on       bool
	ignore   uint64
	directed bool
	credit   int // long scans by other classes that this view survives
	table    table[Msg[M]]
}

func (v *view[M]) key(src, tag uint64) key {
	if !v.directed {
		src = AnySource
	}
	return key{src: src, tag: tag &^ v.ignore}
}

// find returns the oldest message that a receive (src, tag) of this class accepts.
func (v *view[M]) find(src, tag uint64) *Msg[M] {
	if h := v.table.find(v.key(src, tag)); h != nil {
		return h.self
	}
	return nil
}

// views are those in use. While a view is on, it contains all unexpected messages, by the hook of its number.
type views[M any] struct {
	on  int
	all [maxViews]view[M]
}

// of returns the view for receives (src, ignore) if there is one.
func (s *views[M]) of(src, ignore uint64) *view[M] {
	for i := range s.all {
		if v := &s.all[i]; v.on && v.ignore == ignore && v.directed == (src != AnySource) {
			v.credit = min(v.credit+1, maxCredit)
			return v
		}
	}
	return nil
}

// open builds a view after a long scan by receives (src, ignore). When all are in use each loses a credit, and one that has none left its place;
// otherwise open returns nil, and the caller scans on.
func (s *views[M]) open(l *list[Msg[M]], src, ignore uint64) *view[M] {
	i := s.place()
	if i < 0 {
		return nil
	}
	v := &s.all[i]
	if v.on {
		v.table.reset()
		for n := l.head; n != nil; n = n.next {
			n.self.hooks[i] = hook[Msg[M]]{}
		}
		s.on--
	}
	s.on++
	v.on, v.ignore, v.directed, v.credit = true, ignore, src != AnySource, 1
	v.table.reserve(l.n)
	for n := l.head; n != nil; n = n.next {
		v.table.insert(&n.self.hooks[i], n.self, v.key(n.self.Src, n.self.Tag), n.seq)
	}
	return v
}

// place is the number of a view that is off, or else of one that is hardly asked, or -1.
func (s *views[M]) place() int {
	idle := -1
	for i := range s.all {
		v := &s.all[i]
		if !v.on {
			return i
		}
		if v.credit == 0 {
			idle = i
		} else {
			v.credit--
		}
	}
	return idle
}

func (s *views[M]) add(m *Msg[M]) {
	for i := range s.all {
		if v := &s.all[i]; v.on {
			v.table.insert(&m.hooks[i], m, v.key(m.Src, m.Tag), m.node.seq)
		}
	}
}

func (s *views[M]) remove(m *Msg[M]) {
	if s.on == 0 {
		return
	}
	for i := range s.all {
		if v := &s.all[i]; v.on {
			v.table.remove(&m.hooks[i])
		}
	}
}

// rest is called whenever the queue has run empty, and the views with it.
func (s *views[M]) rest() {
	for i := range s.all {
		v := &s.all[i]
		v.on = false
		v.table.shrink()
	}
	s.on = 0
}
