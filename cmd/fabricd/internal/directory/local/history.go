package local

import "gofabric/cmd/fabricd/internal/directory/store"

// Bounds of the changes that a restarted daemon can report again.
const (
	recall      = 8192
	recallBytes = 16 << 20 // of records that are no longer entries
)

// past has the records of the file that are only kept for watchers: changes after floor that are not entries, or no
// longer.
type past struct {
	floor uint64
	dead  [recall]int64 // their approximate sizes in bytes, by revision modulo recall; 0: the record is an entry, or missing
	bytes int64         // of all of them
}

// add marks the record of a change as kept only for watchers.
func (p *past) add(revision uint64, size int64) {
	p.dead[revision%recall] = size
	p.bytes += size
}

// keep undoes add.
func (p *past) keep(revision uint64) {
	if revision > p.floor {
		dead := &p.dead[revision%recall]
		p.bytes -= *dead
		*dead = 0
	}
}

// reach makes room for a change. It calls remove for changes that are too old to be reported.
func (p *past) reach(revision uint64, remove func(revision uint64) error) error {
	for p.floor+recall < revision || p.bytes > recallBytes {
		p.floor++
		dead := &p.dead[p.floor%recall]
		if *dead == 0 {
			continue
		}
		if err := remove(p.floor); err != nil {
			return err
		}
		p.bytes -= *dead
		*dead = 0
	}
	return nil
}

// remember appends a change to the history. The history has no gaps.
func remember(history []store.Event, e store.Event) []store.Event {
	if n := len(history); n > 0 && history[n-1].Revision+1 != e.Revision {
		history = history[:0]
	}
	if len(history) == 2*recall {
		history = append(history[:0], history[recall:]...)
	}
	return append(history, e)
}
