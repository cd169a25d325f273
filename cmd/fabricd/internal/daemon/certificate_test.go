package daemon

import (
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCertificate: the daemon keeps its own certificate as long as it fits and is valid, and then makes another
// one.
func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	start := time.Now()
	serial := func(now time.Time, hosts ...string) string {
		t.Helper()
		i := newIdentity(dir, slog.New(slog.DiscardHandler))
		i.now = func() time.Time { return now }
		c, err := i.cover(hosts...)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range append(hosts, "127.0.0.1", "::1", "localhost") {
			if c.Leaf.VerifyHostname(h) != nil || now.After(c.Leaf.NotAfter) {
				t.Errorf("a certificate for %v until %v is not valid for %s at %v",
					c.Leaf.DNSNames, c.Leaf.NotAfter, h, now)
			}
		}
		return c.Leaf.SerialNumber.String()
	}
	first := serial(start, "10.0.0.1")
	if again := serial(start.AddDate(1, 0, 0), "10.0.0.1"); again != first {
		t.Error("after a year the certificate is a different one")
	}
	if again := serial(start); again != first {
		t.Error("for loopback the certificate is a different one")
	}
	other := serial(start, "node7.example")
	if other == first {
		t.Error("for another name the certificate is the same")
	}
	if late := serial(start.AddDate(0, 0, certificateDays-7), "node7.example"); late == other {
		t.Error("a week before its end the certificate is the same")
	}
	for what, spoil := range map[string]func(key string) error{
		"is cut off":            func(key string) error { return os.Truncate(key, 100) },
		"is empty":              func(key string) error { return os.Truncate(key, 0) },
		"is readable by others": func(key string) error { return os.Chmod(key, 0o644) },
	} {
		before := serial(start)
		if err := spoil(filepath.Join(dir, "tls.key")); err != nil {
			t.Fatal(err)
		}
		if serial(start) == before {
			t.Errorf("a key that %s is used", what)
		}
	}
	for name, want := range map[string]os.FileMode{"tls.key": 0o600, "tls.crt": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestRenewal: a daemon that runs for years renews its certificate. If it cannot, it continues with the old one.
func TestRenewal(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	i := newIdentity(dir, slog.New(slog.DiscardHandler))
	i.now = func() time.Time { return now }
	first, err := i.cover()
	if err != nil {
		t.Fatal(err)
	}
	get := func() string {
		t.Helper()
		c, err := i.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return fingerprint(c)
	}
	now = now.AddDate(0, 0, certificateDays-renewDays-1)
	if get() != fingerprint(first) {
		t.Error("the certificate is renewed too early")
	}
	now = now.AddDate(0, 0, 2)
	i.stateDir = filepath.Join(dir, "tls.key") // not a folder, so no certificate can be stored
	if get() != fingerprint(first) {
		t.Error("the certificate is lost because it cannot be renewed")
	}
	i.stateDir = dir
	if get() != fingerprint(first) {
		t.Error("the daemon tries to renew with each connection")
	}
	now = now.Add(recheck)
	next := get()
	if next == fingerprint(first) || get() != next {
		t.Error("the certificate is not renewed, or more than once")
	}
}

// TestCannotRenew: a daemon starts when a renewal is due, but cannot write the certificate. It uses the old one as
// long as that is valid. Files that a killed process left do no harm.
func TestCannotRenew(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	cover := func() (*tls.Certificate, error) {
		i := newIdentity(dir, slog.New(slog.DiscardHandler))
		i.now = func() time.Time { return now }
		return i.cover()
	}
	first, err := cover()
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "tls.key.new")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, certificateDays-10)
	if c, err := cover(); err != nil || fingerprint(c) != fingerprint(first) {
		t.Errorf("ten days before its end the certificate is not used: %v", err)
	}
	now = now.AddDate(0, 0, 20)
	if _, err := cover(); err == nil {
		t.Error("ten days after its end the certificate is used")
	}
	if err := os.Remove(left); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("half a key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := cover(); err != nil || fingerprint(c) == fingerprint(first) {
		t.Errorf("the certificate is not renewed while a killed process' file exists: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "tls.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %v, %v", info.Mode(), err)
	}
}
