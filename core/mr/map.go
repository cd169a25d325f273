package mr

import (
	"fmt"
	"sync"

	"gofabric/core"
)

// This file has the regions of a domain, by key.

// basicModes are the bits that MRModeBasic, the name before API version 1.5, stands for.
const basicModes = core.MRModeVirtAddr | core.MRModeAllocated | core.MRModeProvKey

const accessFlags = core.AccessSend | core.AccessRecv | core.AccessRead | core.AccessWrite | core.AccessRemoteRead | core.AccessRemoteWrite | core.AccessCollective

// Map holds the regions of a domain by key.
type Map struct {
	mode  core.MRMode
	rand  func() uint64
	lock  sync.Locker
	keys  map[uint64]*Region
	descs map[core.Desc]*Region
	last  core.Desc
	bytes uint64 // of all regions
}

// NewMap makes the map of a domain. rand is the source of keys with MRModeProvKey and must be unpredictable to
// peers. lock is the domain's lock. Reg and Close take it; Verify expects it held.
func NewMap(mode core.MRMode, rand func() uint64, lock sync.Locker) *Map {
	switch {
	case mode&core.MRModeBasic != 0:
		mode |= basicModes
	case mode&core.MRModeScalable != 0:
		mode &^= basicModes
	}
	return &Map{mode: mode, rand: rand, lock: lock, keys: map[uint64]*Region{}, descs: map[core.Desc]*Region{}}
}

// Mode returns the map's mode. MRModeBasic was replaced by the bits that it stands for.
func (m *Map) Mode() core.MRMode { return m.mode }

// Len returns the number of open regions. It takes the lock.
func (m *Map) Len() int {
	m.lock.Lock()
	defer m.lock.Unlock()
	return len(m.descs)
}

// Registered returns the number of open regions and their size in bytes. Locked.
func (m *Map) Registered() (n int, bytes uint64) { return len(m.descs), m.bytes }

// Reg registers memory (fi_mr_regattr(3)). The region borrows it until Close. Only a region with AccessRemoteRead
// or AccessRemoteWrite has a key. MRRMAPMem declares that the memory is a mapped file; see Region.Persist. Errors:
// ErrInval if the memory is missing or empty (fi_mr(3): the length "Must be > 0"); ErrNoKey if the requested key is
// in use or KeyNotAvail; ErrBadFlags for a flag other than MRRMAEvent and MRRMAPMem; ErrNoSys if the system cannot
// write such memory to its file.
func (m *Map) Reg(attr *core.MRAttr) (*Region, error) {
	if err := checkAttr(attr); err != nil {
		return nil, err
	}
	if attr.Flags&core.MRRMAPMem != 0 && PersistentCaps == 0 {
		return nil, core.ErrNoSys
	}
	r := &Region{m: m, mem: attr.IOV[0], access: attr.Access, key: core.KeyNotAvail, persistent: attr.Flags&core.MRRMAPMem != 0, auth: string(attr.AuthKey)}
	r.mem = r.mem[:len(r.mem):len(r.mem)]
	if m.mode&core.MRModeVirtAddr != 0 {
		r.base = addressOf(r.mem)
	}
	r.needsEndpoint = m.mode&core.MRModeEndpoint != 0
	r.needsEnable = r.needsEndpoint || m.mode&core.MRModeRMAEvent != 0 && attr.Flags&core.MRRMAEvent != 0
	r.enabled = !r.needsEnable

	m.lock.Lock()
	defer m.lock.Unlock()
	if r.access&(core.AccessRemoteRead|core.AccessRemoteWrite) != 0 {
		key := attr.RequestedKey
		if m.mode&core.MRModeProvKey != 0 {
			key = m.freshKey()
		}
		if _, used := m.keys[key]; used || key == core.KeyNotAvail {
			return nil, regError(core.ErrNoKey, fmt.Sprintf("key %#x", key), "another open region of the domain has the key: request a different one")
		}
		r.key = key
		m.keys[key] = r
	}
	m.last++
	r.desc = m.last
	m.descs[r.desc] = r
	m.bytes += uint64(len(r.mem))
	return r, nil
}

func checkAttr(attr *core.MRAttr) error {
	switch {
	case attr == nil || len(attr.IOV) == 0:
		return regError(core.ErrInval, "", "pass the memory to register")
	case len(attr.IOV) > 1:
		return regError(core.ErrInval, fmt.Sprintf("%d buffers", len(attr.IOV)), "a region is one buffer (mr_iov_limit 1); register each")
	case len(attr.IOV[0]) == 0:
		return regError(core.ErrInval, "0 bytes", "a region has at least one byte (fi_mr(3)); operations of 0 bytes need no region of that size")
	case attr.Offset != 0:
		return regError(core.ErrInval, fmt.Sprintf("offset %d", attr.Offset), "the offset must be 0")
	case attr.Access&^accessFlags != 0:
		return regError(core.ErrInval, fmt.Sprintf("access %#x", uint64(attr.Access)), "access flags are Send, Recv, Read, Write, RemoteRead and RemoteWrite")
	case len(attr.AuthKey) > core.MaxAuthKey:
		return regError(core.ErrInval, fmt.Sprintf("authorization key of %d bytes", len(attr.AuthKey)), "a key has at most 64 bytes")
	case attr.Flags&^(core.MRRMAEvent|core.MRRMAPMem) != 0:
		return regError(core.ErrBadFlags, fmt.Sprintf("flags %#x", uint64(attr.Flags)), "flags are CapRMAEvent and CapRMAPMem")
	}
	return nil
}

func regError(err core.Errno, object, hint string) error {
	return &core.OpError{Op: "fi_mr_regattr", Object: object, Err: err, Hint: hint}
}

// freshKey draws a key that is not in use. With 64-bit keys a second draw means a broken source, which must not
// cause an endless loop.
func (m *Map) freshKey() uint64 {
	for range 16 {
		k := m.rand()
		if _, used := m.keys[k]; !used && k != 0 && k != core.KeyNotAvail {
			return k
		}
	}
	return core.KeyNotAvail
}

// Verify returns the memory of a remote access: length bytes at addr of the region with that key. access is
// AccessRemoteRead, AccessRemoteWrite or both. The error is ErrInval if no enabled region has the key, and
// ErrAccess if the region does not permit this access or does not contain the whole range. A peer chooses key, addr
// and length: they may have any value. Locked. The memory is valid until the caller unlocks or while the region is
// open.
func (m *Map) Verify(key, addr, length uint64, access core.Access) (mem []byte, r *Region, err core.Errno) {
	r = m.keys[key]
	if r == nil || !r.enabled {
		return nil, nil, core.ErrInval
	}
	off := addr - r.base // an address below base becomes an offset beyond any length
	size := uint64(len(r.mem))
	if access&^r.access != 0 || off > size || length > size-off {
		return nil, nil, core.ErrAccess
	}
	return r.mem[off : off+length : off+length], r, 0
}

// Find returns the enabled region with that key, nil if there is none. Locked.
func (m *Map) Find(key uint64) *Region {
	if r := m.keys[key]; r != nil && r.enabled {
		return r
	}
	return nil
}

// VerifyLocal checks that buf is memory of the region that desc describes, and that the region permits access:
// AccessSend, AccessRecv, AccessRead or AccessWrite (fi_mr(3), FI_MR_LOCAL). The error is ErrInval if desc belongs
// to no open region. Locked.
func (m *Map) VerifyLocal(desc core.Desc, buf []byte, access core.Access) core.Errno {
	r := m.descs[desc]
	if r == nil {
		return core.ErrInval
	}
	off, size := addressOf(buf)-addressOf(r.mem), uint64(len(r.mem))
	if access&^r.access != 0 || len(buf) > 0 && (off > size || uint64(len(buf)) > size-off) {
		return core.ErrAccess
	}
	return 0
}
