package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTokenFiles(t *testing.T) {
	_, good := NewToken("a", 1000, "read")
	entry := func(name, sum, rest string) string {
		return fmt.Sprintf("- {name: %s, sha256: %q, %s}\n", name, sum, rest)
	}
	for _, c := range []struct {
		what, text, want string
	}{
		{"good", entry("a", good.SHA256, "rights: [read]"), ""},
		{"empty", "", "EOF"},
		{"no entries", "[]", "there are none"},
		{"no list", "name: a", "cannot unmarshal"},
		{"unknown field", entry("a", good.SHA256, "rights: [read], colour: red"), "colour"},
		{"short sum", entry("a", good.SHA256[2:], "rights: [read]"), "64 hexadecimal"},
		{"no sum", entry("a", "", "rights: [read]"), "64 hexadecimal"},
		{"no rights", entry("a", good.SHA256, "rights: []"), "no rights"},
		{"unknown right", entry("a", good.SHA256, "rights: [all]"), "rights are"},
		{"writes as nobody", entry("a", good.SHA256, "rights: [write]"), "no uid"},
		{"negative uid", entry("a", good.SHA256, "rights: [write], uid: -1"), "negative"},
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readTokens(path)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(entry("a", good.SHA256, "rights: [read]")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readTokens(path); err == nil {
		t.Error("a file that everybody may write is believed")
	}
}

// TestCertificate: the daemon's own certificate is kept as long as it fits and is valid, and then made anew.
func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	serial := func(host string, now time.Time) string {
		t.Helper()
		c, err := ownCertificate(dir, host, now)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" && c.Leaf.VerifyHostname(host) != nil || now.After(c.Leaf.NotAfter) {
			t.Errorf("a certificate for %v until %v does not serve %s at %v", c.Leaf.DNSNames, c.Leaf.NotAfter, host, now)
		}
		return c.Leaf.SerialNumber.String()
	}
	first := serial("10.0.0.1", now)
	if again := serial("10.0.0.1", now.AddDate(1, 0, 0)); again != first {
		t.Error("after a year it is another one")
	}
	if again := serial("127.0.0.1", now); again != first {
		t.Error("for loopback it is another one")
	}
	other := serial("node7.example", now)
	if other == first {
		t.Error("for another name it is the same")
	}
	if late := serial("node7.example", now.AddDate(0, 0, certificateDays-7)); late == other {
		t.Error("a week before its end it is the same")
	}
}
