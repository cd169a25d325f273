package table

import (
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// Replaced pairs an entry with the one that replaced it.
type Replaced struct{ old, by *store.Entry }

// Old returns the replaced entry, nil if there was none.
func (r *Replaced) Old() *store.Entry { return r.old }

// Replaced returns the replacements since the last call, in order.
func (t *Table) Replaced() []Replaced {
	r := t.replaced
	t.replaced = nil
	return r
}

// Restore undoes changes, the last first, down to revision. Leases that had ended start again.
func (t *Table) Restore(now time.Time, changes []Replaced, revision uint64) {
	for i := len(changes) - 1; i >= 0; i-- {
		old, by := changes[i].old, changes[i].by
		if old != nil {
			if old.Lease != "" { // first, so that a lease that only by holds does not end
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
