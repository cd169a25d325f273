package local

import "gofabric/cmd/fabricd/internal/directory/store"

// Bounds of the changes that a daemon which was started anew can tell again.
const (
	recall      = 8192
	recallBytes = 16 << 20 // of those that are no entries any more
)

// past is which records of the file are kept only to be told again: those of changes after floor that are no entries, or not any more.
type past struct {
	floor uint64
	dead  [recall]int64 // their bytes, about, by revision, modulo; 0: the record is an entry, or not there
	bytes int64         // of all of them
}

// add makes the record of a change that is in the file one that is kept to be told.
func (p *past) add(revision uint64, size int64) {
	p.dead[revision%recall] = size
	p.bytes += size
}

// keep takes back what add did.
func (p *past) keep(revision uint64) {
	if revision > p.floor {
		dead := &p.dead[revision%recall]
		p.bytes -= *dead
		*dead = 0
	}
}

// reach makes place for a change, and calls remove with what is too long ago to be told.
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

// remember keeps the last changes between which none is missing.
func remember(history []store.Event, e store.Event) []store.Event {
	if n := len(history); n > 0 && history[n-1].Revision+1 != e.Revision {
		history = history[:0]
	}
	if len(history) == 2*recall {
		history = append(history[:0], history[recall:]...)
	}
	return append(history, e)
}
