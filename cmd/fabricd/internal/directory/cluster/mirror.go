package cluster

import (
	"sync"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// owned is this node's copy of an entry, without its value.
type owned struct {
	uid     int
	size    int64
	private bool
}

func ownedBy(e *store.Entry) owned { return owned{uid: e.UID, size: e.Size(), private: e.Private} }

// mirror counts the entries of each user in the cluster.
type mirror struct {
	mu      sync.Mutex
	entries map[string]owned
	users   map[int]store.Usage
	total   store.Usage
	limits  store.Limits
}

// reset replaces everything.
func (m *mirror) reset(entries map[string]owned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries, m.users, m.total = map[string]owned{}, map[int]store.Usage{}, store.Usage{}
	for key, o := range entries {
		m.add(key, o)
	}
}

func (m *mirror) add(key string, o owned) {
	m.remove(key)
	m.entries[key] = o
	m.account(o, 1)
}

func (m *mirror) remove(key string) owned {
	o, ok := m.entries[key]
	if ok {
		delete(m.entries, key)
		m.account(o, -1)
	}
	return o
}

func (m *mirror) account(o owned, sign int64) {
	u := m.users[o.uid]
	u.Entries += sign
	u.Bytes += sign * o.size
	m.total.Entries += sign
	m.total.Bytes += sign * o.size
	if m.users[o.uid] = u; u.Entries == 0 {
		delete(m.users, o.uid)
	}
}

func (m *mirror) put(key string, o owned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(key, o)
}

func (m *mirror) delete(key string) owned {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.remove(key)
}

func (m *mirror) usage() store.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

func (m *mirror) setLimits(l store.Limits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limits = l
}

// admits refuses an entry beyond a limit, by this node's counts.
func (m *mirror) admits(who store.Caller, key string, e *store.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, replaces := m.entries[key]
	more := store.Usage{Entries: 1, Bytes: e.Size()}
	if replaces && old.uid == e.UID {
		more = store.Usage{Bytes: more.Bytes - old.size}
	}
	return m.limits.Admit(who, e.UID, m.users[e.UID], m.total, more)
}
