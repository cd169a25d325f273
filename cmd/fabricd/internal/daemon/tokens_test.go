package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{"no entries", "[]", "the file has no tokens"},
		{"no list", "name: a", "cannot unmarshal"},
		{"unknown field", entry("a", good.SHA256, "rights: [read], colour: red"), "colour"},
		{"short sum", entry("a", good.SHA256[2:], "rights: [read]"), "64 hexadecimal"},
		{"no sum", entry("a", "", "rights: [read]"), "64 hexadecimal"},
		{"no rights", entry("a", good.SHA256, "rights: []"), "no rights"},
		{"unknown right", entry("a", good.SHA256, "rights: [all]"), "rights are"},
		{"writes without a uid", entry("a", good.SHA256, "rights: [write]"), "no uid"},
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
		t.Error("a token file that all users may write is accepted")
	}
}

// TestOwnToken: the daemon keeps its own token. It does not use one that other users may read, and replaces an
// incomplete one.
func TestOwnToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := ownTokenFile(dir)
	_, first, err := ownToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := ownToken(dir); again != first || err != nil {
		t.Errorf("the token is a different one: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ownToken(dir); err == nil || !strings.Contains(err.Error(), "other users may read") {
		t.Errorf("a token that others may read: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if _, fresh, err := ownToken(dir); len(fresh) != len(first) || fresh == first || err != nil {
		t.Errorf("after an incomplete token: %q, %v", fresh, err)
	}
}
