package av

import (
	"slices"

	"gofabric/core"
)

// This file inserts into shared vectors and removes from them. change is held.

// edit calls f to change the table and push the changes to the file. After an error of f the file stays marked as
// being changed. The next process that takes the lock repairs it.
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

// undo reverts an insertion that could not be written to the file.
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
