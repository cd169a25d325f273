package endpoint_test

// This file tests which authorization key an endpoint or a region gets.

import (
	"testing"

	"gofabric/core"
)

// keyDomain opens a domain with a key, or one that takes keys from its address vectors.
func keyDomain(t testing.TB, f *core.Fabric, key string, inVectors bool) *domain {
	t.Helper()
	info := testInfo(allCaps)
	info.Domain.AuthKey = []byte(key)
	if inVectors {
		info.Domain.AuthKey, info.Domain.AuthKeySize = nil, core.AVAuthKey
	}
	d := opened(t, f.OpenDomain, info)
	return &domain{d, d.Driver().(*loopDomain)}
}

// TestKeyOf: an endpoint has its own key, else its domain's, else one that its address vector supplies.
func TestKeyOf(t *testing.T) {
	f := newFabric()
	long := string(make([]byte, core.MaxAuthKey+1))
	for _, c := range []struct {
		name      string
		domain    string
		inVectors bool
		own       string
		want      string
		late      bool
		err       error
	}{
		{"none", "", false, "", "", false, nil},
		{"the domain's", "domain's", false, "", "domain's", false, nil},
		{"its own", "domain's", false, "own", "own", false, nil},
		{"too long", "", false, long, "", false, core.ErrInval},
		{"in a vector", "", true, "", "", true, nil},
		{"in a vector and its own", "", true, "own", "", false, core.ErrInval},
	} {
		d := keyDomain(t, f, c.domain, c.inVectors)
		info := testInfo(allCaps)
		info.EP.AuthKey = []byte(c.own)
		a, err := d.drv.KeyOf("fi_endpoint", info)
		if c.err != nil {
			wants(t, c.name, err, core.ErrInval)
		} else if err != nil || a.Text() != c.want || (a.EngineAuth() != nil) != (c.want != "" || c.late) {
			t.Errorf("%s: %q, %v; want %q", c.name, a.Text(), err, c.want)
		}
		must(t, d.Close())
	}
	for name, c := range map[string]struct {
		attr core.DomainAttr
		want error
	}{
		"none":                {core.DomainAttr{}, nil},
		"one":                 {core.DomainAttr{AuthKey: []byte("key")}, nil},
		"in vectors":          {core.DomainAttr{AuthKeySize: core.AVAuthKey}, nil},
		"in vectors, and one": {core.DomainAttr{AuthKeySize: core.AVAuthKey, AuthKey: []byte("key")}, core.ErrInval},
		"too long":            {core.DomainAttr{AuthKey: []byte(long)}, core.ErrInval},
	} {
		if err := names.CheckDomainKey(&c.attr); c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else {
			wants(t, name, err, core.ErrInval)
		}
	}
	must(t, f.Close())
}

// TestVectorKeys: a vector of a domain with keys in vectors cannot be shared, and a region needs one that has a key.
func TestVectorKeys(t *testing.T) {
	f := newFabric()
	d, plain := keyDomain(t, f, "", true), newDomain(t, f)
	_, err := d.OpenAV(core.AVAttr{Name: "shared"})
	wants(t, "a shared vector", err, core.ErrNoSys)
	_, err = plain.OpenAV(core.AVAttr{Flags: core.AVUserID})
	wants(t, "identifiers that were not asked for", err, core.ErrOpNotSupp)
	v, pv := d.vector(t), plain.vector(t)
	_, err = pv.Insert([]core.Addr{{}}, make([]core.FIAddr, 1), core.InsertUserID)
	wants(t, "an identifier", err, core.ErrOpNotSupp)
	_, err = pv.InsertSym("a1", 1, "1", 1, make([]core.FIAddr, 1), core.InsertUserID)
	wants(t, "identifiers of names", err, core.ErrOpNotSupp)
	region := func(d *domain, av *core.AddressVector, key string) error {
		r, err := d.RegMR(&core.MRAttr{IOV: [][]byte{make([]byte, 8)}, Access: core.AccessRemoteRead, RequestedKey: 1,
			AuthAV: av, AuthKey: []byte(key)})
		if err == nil {
			must(t, r.Close())
		}
		return err
	}
	wants(t, "a region without a vector", region(d, nil, ""), core.ErrInval)
	wants(t, "a region with a key and a vector", region(d, v, "key"), core.ErrInval)
	wants(t, "a region with a vector without keys", region(d, v, ""), core.ErrInval)
	wants(t, "a region with a vector where keys are not in vectors", region(plain, pv, ""), core.ErrInval)
	_, err = v.InsertAuthKey([]byte("key"), 0)
	must(t, err)
	must(t, region(d, v, ""))
	must(t, region(plain, nil, "key"))
	for _, o := range []core.Object{v, pv, d, plain, f} {
		must(t, o.Close())
	}
}
