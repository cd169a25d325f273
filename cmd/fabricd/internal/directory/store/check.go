package store

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Sizes and times.
const (
	MaxKey      = 512       // bytes
	MaxAddress  = 4096      // bytes, of a name's value
	MaxValue    = 256 << 10 // bytes, of other values
	MinTTL      = time.Second
	MaxTTL      = 30 * 24 * time.Hour
	MaxLeaseLen = 64
	ListBytes   = 4 << 20
)

// CheckKey refuses keys that cannot be typed or that a path cannot contain: empty and too long ones, and those with
// control characters or with empty, "." or ".." elements.
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w name: it is empty", ErrInvalid)
	case len(key) > MaxKey:
		return fmt.Errorf("%w name: %d bytes, more than %d", ErrInvalid, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w name: not UTF-8", ErrInvalid)
	case !printable(key):
		return fmt.Errorf("%w name %q: it has characters that cannot be printed", ErrInvalid, key)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%w name %q: an element between slashes is empty, or one or two dots", ErrInvalid, key)
		}
	}
	return nil
}

// printable reports whether text may be shown on a terminal unchanged.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// CheckAddress refuses addresses that are too long or not printable, because tools print the addresses of other
// users.
func CheckAddress(address string) error {
	switch {
	case len(address) > MaxAddress:
		return fmt.Errorf("%w address: %d bytes, more than %d", ErrInvalid, len(address), MaxAddress)
	case !printable(address):
		return fmt.Errorf("%w address %.80q: it has characters that cannot be printed", ErrInvalid, address)
	}
	return nil
}

// Check refuses requests that are too large or contradictory.
func (r *Request) Check() error {
	if err := CheckKey(r.Key); err != nil {
		return err
	}
	if r.Kind == Names {
		if err := CheckAddress(string(r.Value)); err != nil {
			return fmt.Errorf("%q: %w", r.Key, err)
		}
	}
	switch {
	case len(r.Value) > MaxValue:
		return fmt.Errorf("%w value of %q: %d bytes, more than %d", ErrInvalid, r.Key, len(r.Value), MaxValue)
	case r.TTL != 0 && r.Lease != "":
		return fmt.Errorf("%w lease of %q: give a time or the id of a lease, not both", ErrInvalid, r.Key)
	case r.TTL < 0, r.TTL != 0 && r.TTL < MinTTL, r.TTL > MaxTTL:
		return fmt.Errorf("%w lease of %q: %v is not between %v and %v", ErrInvalid, r.Key, r.TTL, MinTTL, MaxTTL)
	case len(r.Lease) > MaxLeaseLen:
		return fmt.Errorf("%w lease id: %d bytes, more than %d", ErrInvalid, len(r.Lease), MaxLeaseLen)
	}
	return nil
}
