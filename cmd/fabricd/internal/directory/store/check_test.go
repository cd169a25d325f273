package store

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCheckKey(t *testing.T) {
	for _, ok := range []string{"a", "job/1", "größe/ä", "a b", strings.Repeat("x", MaxKey)} {
		if err := CheckKey(ok); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "/", "a/", "/a", "a//b", ".", "a/../b", "a\nb", "a\x00", "\xff", strings.Repeat("x", MaxKey+1)} {
		if err := CheckKey(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCheckRequest(t *testing.T) {
	for _, bad := range []Request{
		{Kind: Names, Key: "a", Value: make([]byte, MaxAddress+1)},
		{Kind: Values, Key: "a", Value: make([]byte, MaxValue+1)},
		{Kind: Names, Key: "a", Value: []byte("\x1b[2J")},
		{Kind: Names, Key: "a", TTL: time.Millisecond},
		{Kind: Names, Key: "a", TTL: MaxTTL + 1},
		{Kind: Names, Key: "a", TTL: time.Minute, Lease: "x"},
		{Kind: Names, Key: "a", Lease: strings.Repeat("x", MaxLeaseLen+1)},
	} {
		if err := bad.Check(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v, lease %v %q: %v", bad.Key, bad.TTL, bad.Lease, err)
		}
	}
}
