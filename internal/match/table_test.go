// The hash table by itself.

package match

import "testing"

type entry struct {
	hook hook[entry]
}

// Patterns of tags as applications use them, and as somebody might who knows the mixing function but not the seed, spread over the buckets.
func TestKeysSpread(t *testing.T) {
	const n = 1 << 13
	for name, f := range map[string]func(i uint64) key{
		"counting":          func(i uint64) key { return key{AnySource, i, 0} },
		"high bits":         func(i uint64) key { return key{AnySource, i << 51, 0} },
		"middle bits":       func(i uint64) key { return key{AnySource, i << 20, 0} },
		"sources":           func(i uint64) key { return key{i, 0, 0} },
		"sources, high":     func(i uint64) key { return key{i << 51, 5, 0} },
		"masks":             func(i uint64) key { return key{AnySource, 0, i} },
		"source and tag":    func(i uint64) key { return key{i, i, 0} },
		"tag and mask":      func(i uint64) key { return key{AnySource, i, i} },
		"source and mask":   func(i uint64) key { return key{i, 3, i} },
		"grid":              func(i uint64) key { return key{i & 63, i >> 6 << 32, 0} },
		"multiples of phi":  func(i uint64) key { return key{AnySource, i * 0x9e3779b97f4a7c15, 0} },
		"complement source": func(i uint64) key { return key{^i, i, 0} },
	} {
		var tab table[entry]
		for i := range uint64(n) {
			e := new(entry)
			tab.insert(&e.hook, e, f(i), int64(i))
		}
		longest := 0
		for _, h := range tab.buckets {
			length := 0
			for ; h != nil; h = h.chain {
				length++
			}
			longest = max(longest, length)
		}
		if tab.groups != n || longest > 16 { // a random function gives 6 or 7; beyond 16 about once in 1e11
			t.Errorf("%s: %d keys, %d in one bucket", name, tab.groups, longest)
		}
	}
}
