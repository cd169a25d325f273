package core_test

import (
	"bytes"
	"strings"
	"testing"

	"gofabric/core"
)

// TestAuthKeyHints queries a provider that has authorization keys, with valid and invalid hints (fi_domain(3),
// fi_endpoint(3)).
func TestAuthKeyHints(t *testing.T) {
	o := offer(core.EPTypeRDM, tcpCaps)
	o.Domain.AuthKeySize, o.EP.AuthKeySize, o.Domain.MaxEPAuthKey = core.MaxAuthKey, core.MaxAuthKey, 2
	key := []byte("key")
	i := one(t, o, core.Query{Hints: hints(func(h *core.Info) { h.Domain.AuthKey, h.EP.AuthKey = key, key[:2] })})
	if !bytes.Equal(i.Domain.AuthKey, key) || !bytes.Equal(i.EP.AuthKey, key[:2]) ||
		i.Domain.AuthKeySize != core.MaxAuthKey {
		t.Errorf("%+v %+v", i.Domain, i.EP)
	}
	key[0] = 'x' // the caller may use key again
	if i.Domain.AuthKey[0] != 'k' || i.EP.AuthKey[0] != 'k' {
		t.Error("the keys are not copied")
	}
	again := one(t, o, core.Query{Hints: i}) // a result is valid as hints
	if !bytes.Equal(again.Domain.AuthKey, i.Domain.AuthKey) {
		t.Errorf("%q", again.Domain.AuthKey)
	}
	inVectors := func(h *core.Info) { h.Domain.AuthKeySize = core.AVAuthKey }
	i = one(t, o, core.Query{Hints: hints(inVectors)})
	if i.Domain.AuthKeySize != core.AVAuthKey || i.EP.AuthKeySize != 0 || i.Domain.MaxEPAuthKey != 2 {
		t.Errorf("%+v %+v", i.Domain, i.EP)
	}
	if s := i.String(); !strings.Contains(s, "auth_key_size: 18446744073709551615") {
		t.Errorf("the text does not mention FI_AV_AUTH_KEY:\n%s", s)
	}
	if again = one(t, o, core.Query{Hints: i}); again.Domain.AuthKeySize != core.AVAuthKey {
		t.Error("a result with AVAuthKey is not valid as hints")
	}
	reg := core.NewRegistry(&fakeProvider{name: "p", offers: []*core.Info{o}})
	for name, edit := range map[string]func(h *core.Info){
		"a key too long":       func(h *core.Info) { h.Domain.AuthKey = make([]byte, core.MaxAuthKey+1) },
		"an EP key too long":   func(h *core.Info) { h.EP.AuthKey = make([]byte, core.MaxAuthKey+1) },
		"keys too many":        func(h *core.Info) { h.Domain.MaxEPAuthKey = 3 },
		"AVAuthKey with a key": func(h *core.Info) { inVectors(h); h.Domain.AuthKey = key },
		"AVAuthKey, EP key":    func(h *core.Info) { inVectors(h); h.EP.AuthKey = key },
	} {
		if got, _, err := core.GetInfo(reg, &fakeHost{}, nil,
			core.Query{Node: "node7", Hints: hints(edit)}); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, _, err := core.GetInfo(reg, &fakeHost{}, nil,
		core.Query{Node: "node7", Version: core.V(1, 19), Hints: hints(inVectors)}); err == nil {
		t.Errorf("AVAuthKey before API version 1.20: %v", got)
	}
}
