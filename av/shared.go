package av

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gofabric/core"
)

// Vectors shared by the processes of a host (fi_av(3), "name"; fi_getinfo(3), FI_SHARED_AV).
//
// Each process has a copy of the file in its table, and looks addresses up there without a lock that others know of. It compares its generation with the
// file's, one read, when it finds nothing, and when its user looks something up; then it takes over what has changed. Changes are made under a lock.

// shared is a process's end of a shared vector.
type shared struct {
	files    sharedFiles
	readOnly bool
	scratch  [slotLen]byte // guarded by mu, as the rest

	mu     sync.Mutex // guards the file against our own threads; below the locks of domains, above Table.mu
	gen    atomic.Uint64
	closed bool
	// news is what subscribers have not heard yet: indices that changed, and whether an address they may know is gone. At most one for each index.
	news map[uint32]bool
}

// defaultMap is reported as the map_addr of vectors whose creator named none: indices mean the same at any.
const defaultMap = 1 << 44

// NewShared opens a vector that all processes of the user share which open one of the same name in the same scope, the domain (fi_av_open(3)). With Read
// in its flags it must be open elsewhere.
func NewShared(attr core.AVAttr, scope string, format core.AddrFormat, resolve Resolver) (*Table, error) {
	return newShared(sharedRoot(), attr, scope, format, resolve)
}

func newShared(root string, attr core.AVAttr, scope string, format core.AddrFormat, resolve Resolver) (*Table, error) {
	const op = "fi_av_open"
	name := attr.Name
	if name == "" || len(name) > 4096 {
		return nil, opError(op, core.ErrInval, "a shared address vector has a name of at most 4096 bytes")
	}
	t, err := makeTable(attr, maxShared, format, resolve)
	if err != nil {
		return nil, err
	}
	h := head{key: sharedKey(scope, name), format: format, mapAddr: attr.MapAddr}
	if h.mapAddr == 0 {
		h.mapAddr = defaultMap
	}
	s := &shared{readOnly: attr.Flags&core.AVRead != 0, news: map[uint32]bool{}}
	if err := s.open(root, &h); err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) && s.readOnly {
			err, hint = fmt.Errorf("%w: %w", core.ErrNoEnt, err), "no process of this user and host has the vector open for writing"
		} else if _, ok := errors.AsType[core.Errno](err); !ok {
			err = fmt.Errorf("%w: %w", core.ErrIO, err)
		}
		return nil, &core.OpError{Op: op, Object: "shared address vector " + name, Err: err, Hint: hint}
	}
	t.shared = s
	if attr.MapAddr == 0 {
		t.attr.MapAddr = h.mapAddr
	}
	if err := t.pullLocked(); err != nil {
		s.files.leave()
		return nil, &core.OpError{Op: op, Object: "shared address vector " + name, Err: err}
	}
	return t, nil
}

// open opens or makes the files; h is read from those that are there.
func (s *shared) open(root string, h *head) error {
	dir, err := openDir(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	var fresh bool
	if s.files, fresh, err = openFiles(dir, h.key, s.readOnly); err != nil {
		return err
	}
	s.files.root = root
	if fresh {
		sweep(dir)
		err = s.create(h)
	} else {
		err = s.verify(h)
	}
	if err != nil {
		if fresh {
			s.files.remove(dir)
		}
		s.files.close()
	}
	return err
}

// create writes the parts of a file without addresses.
func (s *shared) create(h *head) error {
	if err := s.files.data.Truncate(0); err != nil {
		return err
	}
	if _, err := s.files.data.WriteAt(make([]byte, slotsAt), 0); err != nil {
		return err
	}
	if _, err := s.files.data.WriteAt(h.encode(), 0); err != nil {
		return err
	}
	return s.write(&state{gen: 1}) // a table that has seen nothing is at 0
}

// verify compares the head of a file with what is asked for.
func (s *shared) verify(h *head) error {
	b := make([]byte, headLen)
	if err := readAt(s.files.data, b, 0); err != nil {
		return err
	}
	var is head
	if err := is.decode(b); err != nil {
		return err
	}
	if is.key != h.key {
		return &sharedError{"is another vector's"}
	}
	if is.format != h.format {
		return fmt.Errorf("it has addresses of the format %v, not %v: %w", is.format, h.format, core.ErrInval)
	}
	h.mapAddr = is.mapAddr
	return nil
}

func (s *shared) write(st *state) error {
	_, err := s.files.data.WriteAt(st.encode(s.scratch[:]), stateAt)
	return err
}

// enter locks the file against all who change it: the own threads first. The state comes with it. leave ends it.
func (s *shared) enter(st *state, wait time.Duration) error {
	for end := time.Now().Add(wait); ; time.Sleep(lockPause) {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return core.ErrBadF
		}
		err := lock(s.files.changing, 0)
		if err == nil {
			if err = s.glance(st); err != nil {
				unlock(s.files.changing)
			}
		}
		if err == nil {
			return nil
		}
		s.mu.Unlock() // others of ours go on meanwhile with what they know
		if err != errStuck || time.Now().After(end) {
			return err
		}
	}
}

func (s *shared) leave() {
	unlock(s.files.changing)
	s.mu.Unlock()
}

// close ends the process's part in the vector.
func (s *shared) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.files.leave()
	}
}

// follow takes over what other processes changed. It may be called with the lock of a domain held if it waits hardly.
func (t *Table) follow(wait time.Duration) {
	s := t.shared
	if s == nil {
		return
	}
	var st state
	if s.glance(&st) == nil && st.gen == s.gen.Load() {
		return
	}
	if s.enter(&st, wait) == nil {
		t.pull(&st) // an error shows in the next change
		s.leave()
	}
}

// Follow takes over what other processes changed, and tells subscribers. No lock of a domain may be held.
func (t *Table) Follow() {
	if t.shared == nil {
		return
	}
	t.follow(lockWait)
	t.change.Lock()
	t.tell()
	t.change.Unlock()
}

// glance reads the state without a lock; it fails if somebody writes it at that moment.
func (s *shared) glance(st *state) error {
	var b [stateLen]byte
	if err := readAt(s.files.data, b[:], stateAt); err != nil {
		return err
	}
	return st.decode(b[:])
}

// address reads the address of an index from the file without a lock: others may have it for longer than a look-up waits.
func (t *Table) address(fi core.FIAddr) (ap netip.AddrPort, ok bool) {
	var st state
	if t.shared.glance(&st) != nil || fi >= core.FIAddr(st.high) {
		return ap, false
	}
	var b [slotLen]byte
	var sl slot
	if readAt(t.shared.files.data, b[:], slotAt(uint32(fi))) != nil || sl.decode(b[:]) != nil || sl.uses == 0 {
		return ap, false
	}
	_, no := t.check(core.Addr{IP: sl.ap})
	return sl.ap, no == 0
}

// pullLocked is the first look at the file.
func (t *Table) pullLocked() error {
	var st state
	if err := t.shared.enter(&st, lockWait); err != nil {
		return err
	}
	defer t.shared.leave()
	return t.pull(&st)
}

// tell passes on what came from other processes. t.change is held, and no domain's lock.
func (t *Table) tell() {
	s := t.shared
	s.mu.Lock()
	var news map[uint32]bool
	if len(s.news) > 0 { // else the map stays for others
		news, s.news = s.news, map[uint32]bool{}
	}
	s.mu.Unlock()
	for i, gone := range news {
		fi := core.FIAddr(i)
		if gone {
			for _, f := range t.onRemove.list {
				(*f)(fi)
			}
		}
		if ap, ok := t.known(fi); ok {
			for _, f := range t.onInsert.list {
				(*f)(fi, core.Addr{Format: formatOf(ap.Addr()), IP: ap})
			}
		}
	}
}

// fresh notes that index i has a new address, which says nothing of whether an old one is gone.
func (s *shared) fresh(i uint32) {
	if _, heard := s.news[i]; !heard {
		s.news[i] = false
	}
}
