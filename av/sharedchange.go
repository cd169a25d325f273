package av

import (
	"slices"

	"gofabric/core"
)

// Insertions into shared vectors and removals from them. change is held.

// edit lets f change the table and push what it changed. An error of f leaves the file marked as under way: whoever has its lock next puts things right.
func (t *Table) edit(f func(st *state) error) error {
	s := t.shared
	var st state
	if err := s.enter(&st, lockWait); err != nil {
		return err
	}
	defer s.leave()
	if err := t.pull(&st); err != nil {
		return err
	}
	if err := s.begin(&st); err != nil {
		return err
	}
	if err := f(&st); err != nil {
		return err
	}
	return s.commit(&st)
}

func (t *Table) insertShared(addrs []core.Addr, ids []core.FIAddr, out []inserted) error {
	done := 0
	err := t.edit(func(st *state) error {
		for j := range addrs {
			i, fresh, no := t.insertOne(addrs, ids, j)
			out[j] = inserted{core.AddrNotAvail, no}
			if no == 0 {
				if err := t.push(i, st); err != nil {
					t.undo(i, fresh)
					return err
				}
				out[j].at = core.FIAddr(i)
			}
			if fresh {
				t.shared.fresh(i)
			}
			done++
		}
		return nil
	})
	if err != nil {
		for j := done; j < len(addrs); j++ {
			out[j] = inserted{core.AddrNotAvail, errnoOf(err)}
		}
	}
	return err
}

// undo takes back an insertion that could not be written.
func (t *Table) undo(i uint32, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fresh {
		t.vacate(i)
		return
	}
	t.at(i).uses--
}

func (t *Table) removeShared(fi []core.FIAddr) (known bool, err error) {
	known = true
	err = t.edit(func(st *state) error {
		for _, i := range slices.Backward(fi) {
			there, gone := t.drop(i)
			if !there {
				known = false
				continue
			}
			if gone {
				t.shared.news[uint32(i)] = true
			}
			if err := t.push(uint32(i), st); err != nil {
				return err
			}
		}
		return nil
	})
	return known, err
}
