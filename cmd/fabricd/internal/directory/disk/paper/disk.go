package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"

	"gofabric/cmd/fabricd/internal/directory/disk"
)

// ErrEnded is what calls return when the machine has ended.
var ErrEnded = errors.New("the machine has ended")

// Disk is a disk.Folder that fails when it is told to.
type Disk struct {
	mu      sync.Mutex
	rand    *rand.Rand
	seen    map[string]*leaf // by programs
	kept    map[string]*leaf // names on disk
	changes []func(map[string]*leaf)

	faults float64 // the chance of a call to fail
	room   int     // bytes, all files together; 0: no bound
	left   int     // calls until the machine ends
	fixed  int     // calls until it is mounted for reading only
	full   int     // calls until it is full
	bad    int     // calls until one that fails
	calls  int     // so far
	frail  bool    // it ends with the first call that fails
	ended  bool
}

// Never is a number of calls that the machine outlives.
const Never = 1 << 60

// New returns an empty disk whose luck depends on a seed.
func New(seed uint64) *Disk {
	return &Disk{rand: rand.New(rand.NewPCG(seed, 1)), seen: map[string]*leaf{}, kept: map[string]*leaf{}, left: Never, fixed: Never, full: Never, bad: Never}
}

// Fail has calls fail by chance, and files have no more bytes than room, 0 for no bound.
func (d *Disk) Fail(faults float64, room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults, d.room = faults, room
}

// EndAfter lets the machine end with one of the next calls.
func (d *Disk) EndAfter(calls int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = calls
}

// FixAfter has the disk be mounted for reading only after some more calls.
func (d *Disk) FixAfter(calls int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fixed = calls
}

// FullAfter has the disk be full after some more calls, until Fail gives it room.
func (d *Disk) FullAfter(calls int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = calls
}

// FailAfter has one call fail, after some more.
func (d *Disk) FailAfter(calls int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bad = calls
}

// Calls is how many there were.
func (d *Disk) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// EndAtFault lets the machine end with the next call that fails: nothing is put in order.
func (d *Disk) EndAtFault() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frail = true
}

// Ended reports whether the machine has ended.
func (d *Disk) Ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

// Begin starts the machine again; if it was only the process that ended, what it had written is all still to be seen.
func (d *Disk) Begin(machine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended, d.frail, d.left = false, false, Never
	if !machine {
		return
	}
	for _, change := range d.changes {
		if d.rand.IntN(2) == 0 {
			change(d.kept)
		}
	}
	d.changes, d.seen = nil, map[string]*leaf{}
	for _, name := range slices.Sorted(maps.Keys(d.kept)) {
		d.kept[name] = d.kept[name].ended(d.rand)
	}
	maps.Copy(d.seen, d.kept)
}

// Size is how many bytes programs see.
func (d *Disk) Size() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size()
}

func (d *Disk) size() (n int) {
	for _, l := range d.seen {
		n += len(l.seen)
	}
	return n
}

// call begins a call: an error says that it fails. The caller has locked.
func (d *Disk) call() error {
	d.fixed--
	d.bad--
	d.calls++
	if d.full--; d.full == -1 {
		d.room = max(d.size(), 1)
	}
	if d.left--; d.left < 0 {
		d.ended = true
	}
	switch {
	case d.ended:
		return ErrEnded
	case d.bad == -1, d.rand.Float64() < d.faults:
		d.ended = d.frail
		return syscall.EIO
	}
	return nil
}

// write begins a call that changes something. What the system refuses has no effect.
func (d *Disk) write() error {
	if d.fixed <= 0 && !d.ended {
		return syscall.EROFS
	}
	return d.call()
}

// change is a change of names, which may happen though it failed.
func (d *Disk) change(err error, f func(map[string]*leaf)) error {
	if err == nil || err == syscall.EIO && d.rand.IntN(2) == 0 {
		f(d.seen)
		d.changes = append(d.changes, f)
	}
	return err
}

func (d *Disk) String() string { return "paper" }

// Names is disk.Folder's.
func (d *Disk) Names() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.seen)), d.call()
}

// Read is disk.Folder's.
func (d *Disk) Read(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(); err != nil {
		return nil, err
	}
	if l := d.seen[name]; l != nil {
		return slices.Clone(l.seen), nil
	}
	return nil, fs.ErrNotExist
}

// Create is disk.Folder's.
func (d *Disk) Create(name string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.write()
	if d.room > 0 && d.size() >= d.room && err == nil {
		err = syscall.ENOSPC
	}
	l := d.seen[name]
	if l == nil {
		l = newLeaf()
		err = d.change(err, func(names map[string]*leaf) { names[name] = l })
	} else if err == nil {
		l.truncate(0)
	}
	if err != nil {
		return nil, err
	}
	return &file{disk: d, leaf: l}, nil
}

// Open is disk.Folder's.
func (d *Disk) Open(name string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.write(); err != nil {
		return nil, err
	}
	if l := d.seen[name]; l != nil {
		return &file{disk: d, leaf: l}, nil
	}
	return nil, fs.ErrNotExist
}

// Rename is disk.Folder's.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.seen[from]
	if l == nil {
		return fmt.Errorf("%s: %w", from, fs.ErrNotExist)
	}
	return d.change(d.write(), func(names map[string]*leaf) {
		if names[from] == l {
			delete(names, from)
		}
		names[to] = l
	})
}

// Remove is disk.Folder's.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen[name] == nil {
		return fs.ErrNotExist
	}
	return d.change(d.write(), func(names map[string]*leaf) { delete(names, name) })
}

// Sync is disk.Folder's.
func (d *Disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(); err != nil {
		return err
	}
	d.kept, d.changes = maps.Clone(d.seen), nil
	return nil
}

// Close is disk.Folder's.
func (d *Disk) Close() error { return nil }
