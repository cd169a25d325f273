package engine

// deadlines is a binary heap of the peers that wait for a time. A peer's place may be too early, for most deadlines move on before they are reached and
// moving the peer each time would cost more than one look at it; it is never too late.
type deadlines []deadline

// deadline is when to look at a peer.
type deadline struct {
	at int64
	p  *Peer
}

func (d deadlines) before(i, j int) bool { return d[i].at < d[j].at }

func (d deadlines) swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].p.place, d[j].p.place = int32(i)+1, int32(j)+1
}

func (d deadlines) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !d.before(i, parent) {
			return
		}
		d.swap(i, parent)
		i = parent
	}
}

func (d deadlines) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(d) {
			return
		}
		if c+1 < len(d) && d.before(c+1, c) {
			c++
		}
		if !d.before(c, i) {
			return
		}
		d.swap(i, c)
		i = c
	}
}

// set makes sure that p is looked at no later than at; 0: never, for all it cares.
func (d *deadlines) set(p *Peer, at int64) {
	switch i := int(p.place) - 1; {
	case at == 0:
	case i < 0:
		*d = append(*d, deadline{at, p})
		p.place = int32(len(*d))
		d.up(len(*d) - 1)
	case at < (*d)[i].at:
		(*d)[i].at = at
		d.up(i)
	}
}

// remove takes p out.
func (d *deadlines) remove(p *Peer) {
	if p.place == 0 {
		return
	}
	i, last := int(p.place)-1, len(*d)-1
	d.swap(i, last)
	(*d)[last] = deadline{}
	*d = (*d)[:last]
	p.place = 0
	if i < last {
		d.up(i)
		d.down(i)
	}
}
