package paper

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// block is what a disk writes at once, bytes.
const block = 32

// leaf is a file's content.
type leaf struct {
	seen  []byte       // by programs
	kept  []byte       // by the disk
	dirty map[int]bool // blocks of which seen is newer
}

func newLeaf() *leaf { return &leaf{dirty: map[int]bool{}} }

func resize(b []byte, size int) []byte {
	if size <= len(b) {
		return b[:size:size]
	}
	return append(b[:len(b):len(b)], make([]byte, size-len(b))...)
}

func (l *leaf) write(at int, b []byte) {
	l.seen = resize(l.seen, max(len(l.seen), at+len(b)))
	copy(l.seen[at:], b)
	for i := at / block; i*block < at+len(b); i++ {
		l.dirty[i] = true
	}
}

func (l *leaf) truncate(size int) {
	l.seen = resize(l.seen, size)
	maps.DeleteFunc(l.dirty, func(i int, _ bool) bool { return i*block >= size })
}

// writeBack makes a block durable, as far as the file is long enough there.
func (l *leaf) writeBack(i int) {
	from, to := i*block, min((i+1)*block, len(l.seen), len(l.kept))
	if from < to {
		copy(l.kept[from:to], l.seen[from:to])
	}
	delete(l.dirty, i)
}

func (l *leaf) blocks() []int { return slices.Sorted(maps.Keys(l.dirty)) }

func (l *leaf) sync() {
	l.kept = resize(l.kept, len(l.seen))
	for _, i := range l.blocks() {
		l.writeBack(i)
	}
}

// lose makes some of what is dirty durable, and takes the rest for clean, as after an fsync(2) that failed.
func (l *leaf) lose(r *rand.Rand) {
	if r.IntN(2) == 0 {
		l.kept = resize(l.kept, len(l.seen))
	}
	for _, i := range l.blocks() {
		if r.IntN(2) == 0 {
			l.writeBack(i)
		} else {
			delete(l.dirty, i)
		}
	}
}

// ended is what the disk has after the end of the machine.
func (l *leaf) ended(r *rand.Rand) *leaf {
	l.lose(r)
	return &leaf{seen: slices.Clone(l.kept), kept: l.kept, dirty: map[int]bool{}}
}
