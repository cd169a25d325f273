package av

import (
	"gofabric/core"
)

// This file copies the file of a shared vector to the table, and the table to the file. shared.mu and the lock of
// the file are held throughout.

// pull applies the file's changes to the table.
func (t *Table) pull(st *state) error {
	s := t.shared
	if st.dirty {
		return t.repair(st)
	}
	gen := s.gen.Load()
	if gen == st.gen {
		return nil
	}
	if gen == 0 || st.gen-gen > ringLen {
		return t.pullAll(st)
	}
	var ring [4 * ringLen]byte
	if err := readAt(s.files.data, ring[:], ringAt); err != nil {
		return err
	}
	for n := gen; n != st.gen; n++ {
		i := le.Uint32(ring[n%ringLen*4:])
		if i >= st.high {
			continue // the state has the number of slots
		}
		b := s.scratch[:]
		if err := readAt(s.files.data, b, slotAt(i)); err != nil {
			return err
		}
		if err := t.take(i, b); err != nil {
			return err
		}
	}
	s.gen.Store(st.gen)
	return nil
}

func slotAt(i uint32) int64 { return slotsAt + slotLen*int64(i) }

// pullAll reads all slots.
func (t *Table) pullAll(st *state) error {
	block := make([]byte, 1024*slotLen)
	for i := uint32(0); i < st.high; {
		b := block[:min(len(block), int(st.high-i)*slotLen)]
		if err := readAt(t.shared.files.data, b, slotAt(i)); err != nil {
			return err
		}
		for ; len(b) > 0; b = b[slotLen:] {
			if err := t.take(i, b[:slotLen]); err != nil {
				return err
			}
			i++
		}
	}
	t.mu.Lock()
	for i := st.high; i < t.next; i++ {
		if t.at(i).uses > 0 {
			t.vacate(i)
		}
	}
	t.mu.Unlock()
	t.shared.gen.Store(st.gen)
	return nil
}

// repair completes the change of a process that died during it. All processes read all slots again.
func (t *Table) repair(st *state) error {
	if t.shared.readOnly {
		return t.pullAll(st)
	}
	st.gen += ringLen + 1
	st.dirty = false
	if err := t.pullAll(st); err != nil {
		return err
	}
	return t.shared.write(st)
}

// take sets the table's entry of an index from a slot.
func (t *Table) take(i uint32, b []byte) error {
	var sl slot
	if err := sl.decode(b); err != nil {
		return err
	}
	if sl.uses > 0 {
		if ap, err := t.check(core.Addr{IP: sl.ap}); err != 0 || ap != sl.ap {
			return &sharedError{"has a slot with an invalid address"}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reach(i)
	e := t.at(i)
	var k key
	if sl.uses > 0 {
		var ok bool
		if k, ok = t.keyOf(sl.ap); !ok {
			k.zone = t.zones.number(sl.ap.Addr().Zone())
		}
		if e.uses > 0 && e.is(k) {
			e.uses, e.is4 = sl.uses, sl.ap.Addr().Is4()
			return nil
		}
		if other, found := t.index.find(t, k); found && other != i {
			t.vacate(other) // the address moved; its old slot is read, too
		}
	}
	if e.uses > 0 {
		t.vacate(i)
	}
	if sl.uses > 0 {
		t.free.remove(i)
		*e = entry{hi: k.hi, lo: k.lo, zone: k.zone, uses: sl.uses, port: k.port, is4: sl.ap.Addr().Is4()}
		t.index.add(t, k, i)
		t.shared.fresh(i)
	}
	return nil
}

// reach makes room for index i. t.mu is held.
func (t *Table) reach(i uint32) {
	for ; t.next <= i; t.next++ {
		if int(t.next>>chunkBits) == len(t.chunks) {
			t.chunks = append(t.chunks, new([chunkLen]entry))
		}
		t.free.add(t.next)
	}
}

// vacate frees an index that another process freed. t.mu is held.
func (t *Table) vacate(i uint32) {
	e := t.at(i)
	t.index.remove(t, e.key(), i)
	*e = entry{}
	t.free.add(i)
	t.clearID(core.FIAddr(i))
	t.shared.news[i] = true
}

// push writes an index from the table to the file and counts the change. commit writes the state.
func (t *Table) push(i uint32, st *state) error {
	s := t.shared
	t.mu.RLock()
	var sl slot
	if e := t.get(core.FIAddr(i)); e != nil {
		sl = slot{ap: e.addrPort(&t.zones), uses: e.uses}
	}
	t.mu.RUnlock()
	if _, err := s.files.data.WriteAt(sl.encode(s.scratch[:]), slotAt(i)); err != nil {
		return err
	}
	var b [4]byte
	le.PutUint32(b[:], i)
	if _, err := s.files.data.WriteAt(b[:], ringAt+4*int64(st.gen%ringLen)); err != nil {
		return err
	}
	st.gen++
	st.high = max(st.high, i+1)
	return nil
}

// begin marks the file as being changed. commit ends the change.
func (s *shared) begin(st *state) error {
	st.dirty = true
	return s.write(st)
}

func (s *shared) commit(st *state) error {
	st.dirty = false
	if err := s.write(st); err != nil {
		return err
	}
	s.gen.Store(st.gen)
	return nil
}
