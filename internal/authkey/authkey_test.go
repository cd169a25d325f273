package authkey

import (
	"encoding/hex"
	"testing"
)

// TestProve checks that a proof depends on all its inputs, and has one value that other implementations must get as
// well.
func TestProve(t *testing.T) {
	k := New([]byte("key"))
	base := k.Prove("label", []uint64{1, 2}, []byte("text"))
	for name, p := range map[string]Proof{
		"key":    New([]byte("kez")).Prove("label", []uint64{1, 2}, []byte("text")),
		"zero":   New([]byte("key\x00")).Prove("label", []uint64{1, 2}, []byte("text")),
		"label":  k.Prove("labem", []uint64{1, 2}, []byte("text")),
		"number": k.Prove("label", []uint64{1, 3}, []byte("text")),
		"order":  k.Prove("label", []uint64{2, 1}, []byte("text")),
		"count":  k.Prove("label", []uint64{1}, append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, "text"...)),
		"text":   k.Prove("label", []uint64{1, 2}, []byte("texu")),
	} {
		if p == base || p.Is(base[:]) {
			t.Errorf("the proof does not depend on the %s", name)
		}
	}
	if again := k.Prove("label", []uint64{1, 2}, []byte("text")); !again.Is(base[:]) {
		t.Error("equal inputs give another proof")
	}
	if base.Is(base[:ProofLen-1]) || base.Is(nil) {
		t.Error("a part of a proof was accepted")
	}
	if got, want := hex.EncodeToString(base[:]), "24a6e30439bfeaecc52da5175028c07f"; got != want {
		t.Errorf("proof %s, want %s", got, want)
	}
}

// TestNone checks that a key without bytes counts as no key.
func TestNone(t *testing.T) {
	if New(nil) != nil || New([]byte{}) != nil || (*Key)(nil).Text() != "" {
		t.Error("an empty key counts as a key")
	}
}
