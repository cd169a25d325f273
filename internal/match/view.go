// Views: indices of the unexpected messages by the keys of the classes that ask most.

package match

// maxViews bounds the work of each arrival and removal; maxCredit bounds how long a view stays that is no longer
// used.
const (
	maxViews  = 3
	maxCredit = 8
)

// A view indexes all unexpected messages by the key of one class of receives.
type view[M any] struct {
	on       bool
	ignore   uint64
	directed bool
	credit   int // long searches by other classes that this view survives
	table    table[Msg[M]]
}

// key is the key of a message with src and tag in this class.
func (v *view[M]) key(src, tag uint64) key {
	if !v.directed {
		src = AnySource
	}
	return key{src: src, tag: tag &^ v.ignore}
}

// find returns the oldest message that a receive (src, tag) of this class accepts, or nil.
func (v *view[M]) find(src, tag uint64) *Msg[M] {
	if h := v.table.find(v.key(src, tag)); h != nil {
		return h.self
	}
	return nil
}

// views has the views in use. A view that is on has all unexpected messages, by the entry of its number.
type views[M any] struct {
	on  int
	all [maxViews]view[M]
}

// of returns the view for receives (src, ignore), or nil.
func (s *views[M]) of(src, ignore uint64) *view[M] {
	for i := range s.all {
		if v := &s.all[i]; v.on && v.ignore == ignore && v.directed == (src != AnySource) {
			v.credit = min(v.credit+1, maxCredit)
			return v
		}
	}
	return nil
}

// open builds a view after a long search by receives (src, ignore). If all views are in use, each loses a credit,
// and one without credit is replaced. If there is none, open returns nil, and the caller searches on.
func (s *views[M]) open(l *list[Msg[M]], src, ignore uint64) *view[M] {
	i := s.freeView()
	if i < 0 {
		return nil
	}
	v := &s.all[i]
	// Replace a view: clear its entries in all messages.
	if v.on {
		v.table.reset()
		for n := l.head; n != nil; n = n.next {
			n.self.entries[i] = tableEntry[Msg[M]]{}
		}
		s.on--
	}
	s.on++
	v.on, v.ignore, v.directed, v.credit = true, ignore, src != AnySource, 1
	v.table.reserve(l.n)
	for n := l.head; n != nil; n = n.next {
		v.table.insert(&n.self.entries[i], n.self, v.key(n.self.Src, n.self.Tag), n.seq)
	}
	return v
}

// freeView returns the number of a view that is off, otherwise of one without credit, otherwise -1.
func (s *views[M]) freeView() int {
	idle := -1
	for i := range s.all {
		v := &s.all[i]
		if !v.on {
			return i
		}
		// No receive of its class has used it for long.
		if v.credit == 0 {
			idle = i
		} else {
			v.credit--
		}
	}
	return idle
}

// add adds m to all views that are on.
func (s *views[M]) add(m *Msg[M]) {
	for i := range s.all {
		if v := &s.all[i]; v.on {
			v.table.insert(&m.entries[i], m, v.key(m.Src, m.Tag), m.node.seq)
		}
	}
}

// remove removes m from all views that are on.
func (s *views[M]) remove(m *Msg[M]) {
	if s.on == 0 {
		return
	}
	for i := range s.all {
		if v := &s.all[i]; v.on {
			v.table.remove(&m.entries[i])
		}
	}
}

// clear turns all views off. It runs when the queue, and so each view, is empty.
func (s *views[M]) clear() {
	for i := range s.all {
		v := &s.all[i]
		v.on = false
		v.table.shrink()
	}
	s.on = 0
}
