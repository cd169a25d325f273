package av

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gofabric/core"
)

// This file has vectors that the processes of a host share (fi_av(3), "name"; fi_getinfo(3), FI_SHARED_AV).
//
// Each process has a copy of the file in its table, and looks addresses up there without a lock on the file. The
// file has a generation that counts changes. A process compares its generation with the file's, one read, if a
// look-up finds nothing and when an application calls Lookup. If they differ, it reads the changes. Changes are
// made under a lock.

// shared is the part of a shared vector that one process has.
type shared struct {
	files    sharedFiles
	readOnly bool
	scratch  [slotLen]byte // guarded by mu, as the rest

	mu     sync.Mutex // serializes this process' use of the file; locked after domains and before Table.mu
	gen    atomic.Uint64
	closed bool
	// news has the changes that subscribers have not received: for each index, whether an address that they may
	// know was removed.
	news map[uint32]bool
}

// defaultMap is the map_addr of vectors whose creator did not choose one. Indices mean the same at any address.
const defaultMap = 1 << 44

// NewShared opens a vector that all processes of the user share if they open the same name in the same scope, the
// domain (fi_av_open(3)). With AVRead in its flags the vector must already be open elsewhere.
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
	h.mapAddr = cmp.Or(h.mapAddr, defaultMap)
	s := &shared{readOnly: attr.Flags&core.AVRead != 0, news: map[uint32]bool{}}
	if err := s.open(root, &h); err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) && s.readOnly {
			err, hint = fmt.Errorf("%w: %w", core.ErrNoEnt, err), "no process of this user on this host has the address vector open for writing: open it there first"
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

// open opens or creates the files. It reads h from existing ones.
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

// create writes the parts of a file that have no addresses.
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
	return s.write(&state{gen: 1}) // generation 0 is a table that has read nothing
}

// verify compares the head of a file with the attributes of the vector.
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
		return &sharedError{"belongs to another address vector"}
	}
	if is.format != h.format {
		return fmt.Errorf("the address vector has addresses of the format %v, not %v: %w", is.format, h.format, core.ErrInval)
	}
	h.mapAddr = is.mapAddr
	return nil
}

func (s *shared) write(st *state) error {
	_, err := s.files.data.WriteAt(st.encode(s.scratch[:]), stateAt)
	return err
}

// enter takes the lock for changes, first among the threads of this process, and reads the state. leave releases
// it.
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
		s.mu.Unlock() // other threads may use the table meanwhile
		if err != errStuck || time.Now().After(end) {
			return err
		}
	}
}

func (s *shared) leave() {
	unlock(s.files.changing)
	s.mu.Unlock()
}

// close closes this process' part of the vector.
func (s *shared) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.files.leave()
	}
}

// follow reads the changes of other processes. A caller that holds the lock of a domain must pass a short wait.
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
		t.pull(&st) // the next change reports an error
		s.leave()
	}
}

// Follow reads the changes of other processes and calls subscribers. The caller must not hold the lock of a domain.
func (t *Table) Follow() {
	if t.shared == nil {
		return
	}
	t.follow(lockWait)
	t.change.Lock()
	t.tell()
	t.change.Unlock()
}

// glance reads the state without a lock. It fails if a process writes it at that moment.
func (s *shared) glance(st *state) error {
	var b [stateLen]byte
	if err := readAt(s.files.data, b[:], stateAt); err != nil {
		return err
	}
	return st.decode(b[:])
}

// address reads the address of an index from the file without a lock, because another process may hold the lock
// longer than a look-up can wait.
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

// pullLocked reads the file for the first time.
func (t *Table) pullLocked() error {
	var st state
	if err := t.shared.enter(&st, lockWait); err != nil {
		return err
	}
	defer t.shared.leave()
	return t.pull(&st)
}

// tell calls subscribers with the changes of other processes. The caller holds t.change, and no domain's lock.
func (t *Table) tell() {
	s := t.shared
	s.mu.Lock()
	var news map[uint32]bool
	if len(s.news) > 0 { // an empty map is reused
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

// fresh records that index i has a new address. It keeps the record of a removed one.
func (s *shared) fresh(i uint32) {
	if _, heard := s.news[i]; !heard {
		s.news[i] = false
	}
}
