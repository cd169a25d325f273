package table

import (
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// Replaced is what a change took the place of.
type Replaced struct{ old, by *store.Entry }

// Old is the entry that was replaced; nil if there was none.
func (r *Replaced) Old() *store.Entry { return r.old }

// Replaced returns what the changes since the last call replaced, in their order.
func (t *Table) Replaced() []Replaced {
	r := t.replaced
	t.replaced = nil
	return r
}

// Restore takes changes back, the last first, to what was at revision. Leases that had ended begin anew.
func (t *Table) Restore(now time.Time, changes []Replaced, revision uint64) {
	for i := len(changes) - 1; i >= 0; i-- {
		old, by := changes[i].old, changes[i].by
		if old != nil {
			if old.Lease != "" { // first, so that a lease which by holds alone does not end
				t.leases.hold(old, now)
			}
			t.tree.ReplaceOrInsert(old)
			t.account(old, 1)
		} else {
			t.tree.Delete(by)
		}
		if by != nil {
			t.account(by, -1)
			t.leases.drop(by)
		}
	}
	t.revision = revision
}
