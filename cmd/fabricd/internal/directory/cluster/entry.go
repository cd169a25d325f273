package cluster

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// kinds has the tables' prefixes in keys.
var kinds = map[store.Kind]string{store.Names: "names/", store.Values: "values/", store.Fences: "fences/"}

// kept is an entry in etcd's JSON.
type kept struct {
	UID     int           `json:"uid"`
	Private bool          `json:"private,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Address string        `json:"address,omitempty"` // of names, as readable text
	Value   []byte        `json:"value,omitempty"`   // of others
}

func (s *Store) key(k store.Kind, key string) string { return s.prefix + kinds[k] + key }

// parseKey is the inverse of key.
func (s *Store) parseKey(full string) (k store.Kind, key string, ok bool) {
	rest, ok := strings.CutPrefix(full, s.prefix)
	if !ok {
		return 0, "", false
	}
	for k, name := range kinds {
		if key, ok := strings.CutPrefix(rest, name); ok && store.CheckKey(key) == nil {
			return k, key, true
		}
	}
	return 0, "", false
}

// entry decodes an entry of etcd. Another program may have written it.
func (s *Store) entry(kv *mvccpb.KeyValue) (e store.Entry, ok bool) {
	kind, key, ok := s.parseKey(string(kv.Key))
	if !ok {
		return e, false
	}
	var v kept
	if json.Unmarshal(kv.Value, &v) != nil {
		return e, false
	}
	e = store.Entry{Kind: kind, Key: key, Value: v.Value, UID: v.UID, Private: v.Private, TTL: v.TTL, Revision: uint64(kv.ModRevision)}
	if kind == store.Names {
		if store.CheckAddress(v.Address) != nil {
			return e, false
		}
		e.Value = []byte(v.Address)
	}
	if kv.Lease != 0 {
		e.Lease = leaseText(clientv3.LeaseID(kv.Lease))
	}
	return e, true
}

func encode(e *store.Entry) (string, error) {
	v := kept{UID: e.UID, Private: e.Private, TTL: e.TTL}
	if e.Kind == store.Names {
		v.Address = string(e.Value)
	} else {
		v.Value = e.Value
	}
	data, err := json.Marshal(v)
	return string(data), err
}

// newLeaseID returns the id of a lease of a user: 32 bits of uid, 31 random bits.
func newLeaseID(uid int) clientv3.LeaseID {
	var b [4]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return clientv3.LeaseID(int64(uint32(uid))<<31 | int64(binary.LittleEndian.Uint32(b[:])>>1))
}

func leaseOwner(id clientv3.LeaseID) int { return int(uint32(id >> 31)) }

func leaseText(id clientv3.LeaseID) string { return fmt.Sprintf("%016x", int64(id)) }

// parseLease parses a lease's id from a client.
func parseLease(text string, who store.Caller) (clientv3.LeaseID, error) {
	n, err := strconv.ParseInt(text, 16, 64)
	if err != nil || n <= 0 || leaseText(clientv3.LeaseID(n)) != text {
		return 0, fmt.Errorf("lease %q: %w", text, store.ErrNotFound)
	}
	id := clientv3.LeaseID(n)
	if !who.May(leaseOwner(id)) {
		return 0, fmt.Errorf("lease %q: %w", text, store.ErrNotYours)
	}
	return id, nil
}
