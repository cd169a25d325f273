package pmi

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// This file encodes values and keys of any bytes for launchers, which accept short texts without spaces, equals
// signs and semicolons.

// MaxValue is the length of the largest value, in bytes.
const MaxValue = 1 << 20

// separator is between a key and the number of a part. Keys do not contain it.
const separator = "+"

// partDigits is the room for a separator and the number of a part, in bytes.
const partDigits = 7

// minLen is the smallest limit that a launcher may have for keys and values. MPICH demands more
// (PMI_KVS_Get_key_length_max).
const minLen = 40

// Limits are the lengths of the longest key and value that a launcher accepts, with the NUL at their end
// (get_maxes).
type Limits struct{ Key, Value int }

// Check returns an error if the limits are too small for any value.
func (l Limits) Check() error {
	if l.Key < minLen || l.Value < minLen {
		return fmt.Errorf("the launcher takes keys of %d and values of %d bytes; at least %d are needed", l.Key, l.Value, minLen)
	}
	return nil
}

// Name returns the launcher's key for a key: the key itself if it fits, else its hash.
func (l Limits) Name(key string) string {
	room := l.Key - 1 - partDigits
	plain := key != "" && len(key) <= room
	for _, c := range []byte(key) {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_./", c) >= 0)
	}
	if plain {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	name := "#" + base64.RawURLEncoding.EncodeToString(sum[:])
	return name[:min(len(name), room)]
}

// Part returns the launcher's key for the i-th part of a value whose key is name.
func Part(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + separator + strconv.Itoa(i)
}

// ErrTooLong means that a value has more than MaxValue bytes.
var ErrTooLong = errors.New("the value is too long")

// Split returns the parts of a value as texts. The first begins with the number of parts and a colon.
func (l Limits) Split(value []byte) ([]string, error) {
	if len(value) > MaxValue {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, len(value), MaxValue)
	}
	text := base64.RawURLEncoding.EncodeToString(value)
	size := l.Value - 1 - partDigits
	count := max((len(text)+size-1)/size, 1)
	parts := make([]string, count)
	for i := range parts {
		n := min(size, len(text))
		parts[i], text = text[:n], text[n:]
	}
	parts[0] = strconv.Itoa(count) + ":" + parts[0]
	return parts, nil
}

// Count returns the number of parts of a value from its first part.
func (l Limits) Count(first string) (int, error) {
	digits, _, ok := strings.Cut(first, ":")
	n, err := strconv.Atoi(digits)
	size := l.Value - 1 - partDigits
	most := base64.RawURLEncoding.EncodedLen(MaxValue)/size + 1
	if !ok || err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("the value %.40q was not put by this package", first)
	}
	return n, nil
}

// Join joins the parts of a value.
func Join(parts []string) ([]byte, error) {
	text := strings.Join(parts, "")
	_, text, _ = strings.Cut(text, ":")
	if len(text) > base64.RawURLEncoding.EncodedLen(MaxValue) {
		return nil, ErrTooLong
	}
	value, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("a value that was not put by this package: %w", err)
	}
	return value, nil
}
