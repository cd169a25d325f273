package store

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

func TestRecord(t *testing.T) {
	for _, e := range []Event{
		{Type: Put, Entry: Entry{Kind: Names, Key: "job/1", Value: []byte("fi_sockaddr_in://10.0.0.1:7471"), UID: 1000, Private: true, Lease: "abc", TTL: time.Minute, Revision: 7}},
		{Type: Expired, Entry: Entry{Kind: Values, Key: "k", UID: -1, Revision: 1 << 60}},
	} {
		b := AppendRecord(nil, &e)
		got, err := ParseRecord(b)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%+v was parsed as %+v, %v", e, got, err)
		}
		for cut := range b {
			if got, err := ParseRecord(b[:cut]); err == nil {
				t.Errorf("cut at %d: %+v", cut, got)
			}
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(AppendRecord(nil, &Event{Type: Put, Entry: Entry{Kind: Names, Key: "a", Value: []byte("b"), Revision: 1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseRecord(b)
		if err != nil {
			return
		}
		again, err := ParseRecord(AppendRecord(nil, &e))
		if err != nil || again.Key != e.Key || !bytes.Equal(again.Value, e.Value) {
			t.Errorf("%+v, again %+v, %v", e, again, err)
		}
	})
}
