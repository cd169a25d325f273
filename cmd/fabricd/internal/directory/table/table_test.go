package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gofabric/cmd/fabricd/internal/directory/store"
)

var (
	start = time.Unix(1000, 0)
	root  = store.Caller{UID: 0, All: true}
	alice = store.Caller{UID: 1000}
	bob   = store.Caller{UID: 1001}
)

func name(key, value string, ttl time.Duration) store.Request {
	return store.Request{Kind: store.Names, Key: key, Value: []byte(value), TTL: ttl}
}

// must puts an entry, which must succeed.
func must(t *testing.T, tab *Table, now time.Time, who store.Caller, r store.Request) store.Entry {
	t.Helper()
	e, _, err := tab.Put(now, who, r)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestOwner(t *testing.T) {
	tab := New(store.Limits{})
	must(t, tab, start, alice, name("a", "1", 0))
	if _, _, err := tab.Put(start, bob, name("a", "2", 0)); !errors.Is(err, store.ErrNotYours) {
		t.Errorf("bob replaces alice's name: %v", err)
	}
	if _, err := tab.Delete(start, bob, store.Names, "a"); !errors.Is(err, store.ErrNotYours) {
		t.Errorf("bob deletes alice's name: %v", err)
	}
	if n := tab.DeletePrefix(start, bob, store.Names, ""); len(n) != 0 {
		t.Errorf("bob deleted alice's names by prefix: %v", n)
	}
	if e := must(t, tab, start, root, name("a", "3", 0)); e.UID != alice.UID {
		t.Errorf("root's change replaced the owner: %+v", e)
	}
	r := name("p", "secret", time.Minute)
	r.Private = true
	e := must(t, tab, start, alice, r)
	if _, err := tab.Get(start, bob, store.Names, "p"); !errors.Is(err, store.ErrNotYours) {
		t.Errorf("bob reads alice's private value: %v", err)
	}
	if e, err := tab.Get(start, alice, store.Names, "p"); err != nil || string(e.Value) != "secret" {
		t.Errorf("alice reads her own value: %+v, %v", e, err)
	}
	if e, err := tab.Get(start, bob, store.Names, "a"); err != nil || string(e.Value) != "3" {
		t.Errorf("bob reads a value that is not private: %+v, %v", e, err)
	}
	if l := tab.List(start, bob, store.Names, "", "", 10); len(l.Entries) != 1 {
		t.Errorf("bob lists a private value: %+v", l)
	}
	if _, err := tab.Renew(start, bob, e.Lease); !errors.Is(err, store.ErrNotYours) {
		t.Errorf("bob renews alice's lease: %v", err)
	}
	if _, _, err := tab.Put(start, bob, store.Request{Kind: store.Names, Key: "b", Lease: e.Lease}); !errors.Is(err, store.ErrNotYours) {
		t.Errorf("bob puts a name on alice's lease: %v", err)
	}
}

func TestLease(t *testing.T) {
	tab := New(store.Limits{})
	e := must(t, tab, start, alice, name("a", "1", 10*time.Second))
	must(t, tab, start, alice, store.Request{Kind: store.Values, Key: "v", Lease: e.Lease})
	if _, err := tab.Renew(start.Add(9*time.Second), alice, e.Lease); err != nil {
		t.Fatal(err)
	}
	if got := tab.Expire(start.Add(18*time.Second), 10); len(got) != 0 {
		t.Errorf("a renewed lease ended: %v", got)
	}
	if _, err := tab.Get(start.Add(19*time.Second), alice, store.Names, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of a name whose lease ended: %v", err)
	}
	if _, err := tab.Renew(start.Add(19*time.Second), alice, e.Lease); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Renew of an ended lease: %v", err)
	}
	if got := tab.Expire(start.Add(19*time.Second), 10); len(got) != 2 || got[0].Type != store.Expired {
		t.Errorf("expired: %+v", got)
	}
	if tab.Usage() != (store.Usage{}) || !tab.Next().IsZero() || len(tab.users) != 0 {
		t.Errorf("left over: %+v, next %v", tab.Usage(), tab.Next())
	}
	// A second put of a name gives it the new lease. The old lease, which held no other name, ends.
	e = must(t, tab, start, alice, name("a", "1", 10*time.Second))
	must(t, tab, start, alice, name("a", "2", time.Hour))
	if got := tab.Expire(start.Add(time.Minute), 10); len(got) != 0 {
		t.Errorf("the end of the old lease removed the name: %v", got)
	}
	if _, err := tab.Renew(start, alice, e.Lease); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Renew of an empty lease: %v", err)
	}
	tab.Restart(start.Add(2*time.Hour), time.Minute)
	if want := start.Add(3 * time.Hour); !tab.Next().Equal(want) {
		t.Errorf("after a restart the lease ends at %v, want %v", tab.Next(), want)
	}
}

// TestLeases: a renewed lease moves behind those that now end earlier. Every entry shows the length and the end of
// its lease.
func TestLeases(t *testing.T) {
	tab := New(store.Limits{})
	long := must(t, tab, start, alice, name("long", "1", 5*time.Second))
	short := must(t, tab, start, alice, name("short", "1", 6*time.Second))
	with := must(t, tab, start, alice, store.Request{Kind: store.Names, Key: "with", Lease: short.Lease})
	if with.TTL != 6*time.Second || !with.Expires.Equal(start.Add(6*time.Second)) {
		t.Errorf("an entry on another entry's lease: %+v", with)
	}
	if long.Revision != 1 || short.Revision != 2 || with.Revision != 3 || tab.Revision() != 3 {
		t.Errorf("revisions %d, %d, %d; the table's is %d",
			long.Revision, short.Revision, with.Revision, tab.Revision())
	}
	if at, err := tab.Renew(start.Add(4*time.Second), alice, long.Lease); err != nil ||
		!at.Equal(start.Add(9*time.Second)) {
		t.Errorf("renewed until %v, %v", at, err)
	}
	if want := start.Add(6 * time.Second); !tab.Next().Equal(want) {
		t.Errorf("the next lease ends at %v, want %v", tab.Next(), want)
	}
	if got := tab.Expire(start.Add(7*time.Second), 10); len(got) != 2 || tab.Usage().Entries != 1 {
		t.Errorf("expired after the renewal of another lease: %+v", got)
	}
	if e, err := tab.Get(start.Add(8*time.Second), bob, store.Names, "long"); err != nil ||
		!e.Expires.Equal(start.Add(9*time.Second)) {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestDeletePrefix deletes the caller's entries with a prefix, in the right table, and returns them.
func TestDeletePrefix(t *testing.T) {
	tab := New(store.Limits{})
	for _, key := range []string{"job/1", "job/2", "job", "jobs", "k"} {
		must(t, tab, start, alice, name(key, "1", 0))
	}
	must(t, tab, start, bob, name("job/3", "1", 0))
	must(t, tab, start, alice, store.Request{Kind: store.Values, Key: "job/1"})
	events := tab.DeletePrefix(start, alice, store.Names, "job/")
	if len(events) != 2 || events[0].Key != "job/1" || events[1].Key != "job/2" || events[1].Type != store.Deleted ||
		events[1].Revision != tab.Revision() {
		t.Errorf("deleted: %+v", events)
	}
	var left []string
	for _, e := range tab.All() {
		left = append(left, e.Key)
	}
	if want := []string{"job", "job/3", "jobs", "k", "job/1"}; !slices.Equal(left, want) {
		t.Errorf("the table has %v, want %v", left, want)
	}
}

func TestQuota(t *testing.T) {
	tab := New(store.Limits{User: store.Usage{Entries: 2, Bytes: 1 << 20}, Total: store.Usage{Entries: 4}})
	for i := range 3 {
		_, _, err := tab.Put(start, alice, name(fmt.Sprint("a", i), "1", 0))
		if (err != nil) != (i == 2) || i == 2 && !errors.Is(err, store.ErrQuota) {
			t.Errorf("alice's name %d: %v", i, err)
		}
	}
	if _, _, err := tab.Put(start, alice, store.Request{Kind: store.Values, Key: "a0", Value: make([]byte, 1)}); !errors.Is(err, store.ErrQuota) {
		t.Errorf("Put of a value beyond the quota: %v", err)
	}
	must(t, tab, start, alice, name("a0", strings.Repeat("x", 100), 0)) // the entry is replaced, not added
	if _, _, err := tab.Put(start, alice, name("a0", strings.Repeat("x", 1<<20), 0)); !errors.Is(err, store.ErrQuota) {
		t.Errorf("an entry of more than a megabyte: %v", err)
	}
	must(t, tab, start, bob, name("b", "1", 0))
	must(t, tab, start, root, name("r", "1", 0))
	if _, _, err := tab.Put(start, root, name("r2", "1", 0)); !errors.Is(err, store.ErrQuota) {
		t.Errorf("Put by root beyond the directory's limit: %v", err)
	}
}

// TestList lists the entries in pages.
func TestList(t *testing.T) {
	tab := New(store.Limits{})
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("job/%02d", i)
		want = append(want, key)
		must(t, tab, start, alice, name(key, "1", 0))
	}
	must(t, tab, start, alice, name("jo", "1", 0))
	must(t, tab, start, alice, name("jobless", "1", 0))
	must(t, tab, start, alice, store.Request{Kind: store.Values, Key: "job/xx"})
	var got []string
	for after, more := "", true; more; {
		l := tab.List(start, bob, store.Names, "job/", after, 10)
		for _, e := range l.Entries {
			got = append(got, e.Key)
		}
		more, after = l.More, got[len(got)-1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v", got)
	}
	for i := range 20 {
		must(t, tab, start, alice, store.Request{Kind: store.Values, Key: fmt.Sprint("large", i), Value: make([]byte, store.MaxValue)})
	}
	if l := tab.List(start, alice, store.Values, "large", "", 100); len(l.Entries) != store.ListBytes/store.MaxValue || !l.More {
		t.Errorf("%d large values at once, more: %v", len(l.Entries), l.More)
	}
}

// TestReplay: a table that is built from another table's changes, from any snapshot on, is equal to it, also after
// changes were taken back.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tab, now := New(store.Limits{User: store.Usage{Entries: 6}}), start
		var log []store.Event
		var snapshot []*store.Entry
		var leases []string
		cut, mark, revision := 0, 0, uint64(0)
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				r := name(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(rt, "key"), rapid.StringN(0, 5, 10).Draw(rt, "value"), 0)
				switch rapid.IntRange(0, 2).Draw(rt, "lease") {
				case 1:
					r.TTL = time.Duration(rapid.IntRange(1, 9).Draw(rt, "ttl")) * time.Second
				case 2:
					if len(leases) > 0 {
						r.Lease = rapid.SampledFrom(leases).Draw(rt, "id")
					}
				}
				if e, ev, err := tab.Put(now, rapid.SampledFrom([]store.Caller{alice, bob, root}).Draw(rt, "who"), r); err == nil {
					log = append(log, ev)
					if e.Lease != "" {
						leases = append(leases, e.Lease)
					}
				}
			},
			"delete": func(rt *rapid.T) {
				if ev, err := tab.Delete(now, alice, store.Names, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key")); err == nil {
					log = append(log, ev)
				}
			},
			"expire": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 4).Draw(rt, "seconds")) * time.Second)
				log = append(log, tab.Expire(now, 100)...)
			},
			"snapshot": func(*rapid.T) { snapshot, cut = tab.All(), len(log) },
			"mark": func(*rapid.T) {
				tab.Replaced()
				mark, revision = len(log), tab.Revision()
			},
			"take back": func(rt *rapid.T) {
				tab.Restore(now, tab.Replaced(), revision)
				if log = log[:mark]; cut > mark {
					snapshot, cut = nil, 0
				}
				if tab.Revision() != revision {
					rt.Fatalf("revision %d, want %d", tab.Revision(), revision)
				}
			},
			"": func(rt *rapid.T) {
				again := New(store.Limits{})
				for _, e := range snapshot {
					again.Apply(now, store.Event{Type: store.Put, Entry: *e})
				}
				for _, ev := range log[max(0, cut-min(cut, 3)):] { // a log may repeat changes that are in the snapshot
					b := store.AppendRecord(nil, &ev)
					ev, err := store.ParseRecord(b)
					if err != nil {
						rt.Fatal(err)
					}
					again.Apply(now, ev)
				}
				same(rt, tab, again)
			},
		})
	})
}

func same(t *rapid.T, a, b *Table) {
	x, y := a.All(), b.All()
	if !slices.EqualFunc(x, y, func(p, q *store.Entry) bool {
		return p.Key == q.Key && string(p.Value) == string(q.Value) && p.UID == q.UID && p.Lease == q.Lease && p.TTL == q.TTL && p.Revision == q.Revision
	}) {
		t.Fatalf("%d entries, again %d", len(x), len(y))
	}
	if a.total != b.total || len(a.leases.byID) != len(b.leases.byID) || a.leases.byEnd.Len() != b.leases.byEnd.Len() {
		t.Fatalf("usage %+v, again %+v; leases %d, %d", a.total, b.total, len(a.leases.byID), len(b.leases.byID))
	}
	if !maps.EqualFunc(a.users, b.users, func(p, q *store.Usage) bool { return *p == *q }) {
		t.Fatal("users differ")
	}
}
