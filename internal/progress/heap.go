package progress

// heap is a binary min-heap of handles by deadline; each handle knows its place.
type heap []*Handle

func (t *heap) push(h *Handle) {
	h.pos = len(*t)
	*t = append(*t, h)
	t.up(h.pos)
}

func (t *heap) remove(h *Handle) {
	i, last := h.pos, len(*t)-1
	t.swap(i, last)
	(*t)[last] = nil
	*t = (*t)[:last]
	h.pos = -1
	if i < last {
		t.up(i)
		t.down(i)
	}
}

func (t *heap) swap(i, j int) {
	s := *t
	s[i], s[j] = s[j], s[i]
	s[i].pos, s[j].pos = i, j
}

func (t *heap) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if (*t)[p].at <= (*t)[i].at {
			return
		}
		t.swap(i, p)
		i = p
	}
}

func (t *heap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(*t) {
			return
		}
		if r := c + 1; r < len(*t) && (*t)[r].at < (*t)[c].at {
			c = r
		}
		if (*t)[i].at <= (*t)[c].at {
			return
		}
		t.swap(i, c)
		i = c
	}
}
