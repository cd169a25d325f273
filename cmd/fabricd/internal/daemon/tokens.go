package daemon

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"
)

// Token is an entry of the token file. It has the SHA-256 of the token, not the token itself. A token has 256
// random bits, so that a slow hash is not needed.
type Token struct {
	Name   string   `yaml:"name"`
	SHA256 string   `yaml:"sha256"`
	Rights []string `yaml:"rights"` // read, write (what the user of uid may), admin (what root may)
	UID    *int     `yaml:"uid,omitempty"`

	digest             [sha256.Size]byte
	read, write, admin bool
}

// NewToken returns a new token and its entry.
func NewToken(name string, uid int, rights ...string) (token string, t Token) {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	token = hex.EncodeToString(b[:])
	return token, Token{Name: name, SHA256: digestOf(token), Rights: rights, UID: &uid}
}

// tokens are the valid ones.
type tokens []Token

// readTokens reads the token file.
func readTokens(path string) (tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the tokens: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("the tokens: other users may write %s: chmod go-w", path)
	}
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	var list tokens
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("the tokens in %s: %w", path, err)
	}
	for i := range list {
		if err := list[i].Check(); err != nil {
			return nil, fmt.Errorf("the tokens in %s: entry %d, %q: %w", path, i+1, list[i].Name, err)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the tokens in %s: the file has no tokens", path)
	}
	return list, nil
}

// Check checks an entry and prepares it for use.
func (t *Token) Check() error {
	digest, err := hex.DecodeString(t.SHA256)
	if err != nil || len(digest) != len(t.digest) {
		return errors.New("sha256 is not 64 hexadecimal digits")
	}
	copy(t.digest[:], digest)
	for _, r := range t.Rights {
		switch r {
		case "read":
			t.read = true
		case "write":
			t.write = true
		case "admin":
			t.admin = true
		default:
			return fmt.Errorf("rights are read, write and admin, not %q", r)
		}
	}
	switch {
	case len(t.Rights) == 0:
		return errors.New("it has no rights")
	case t.UID == nil && (t.write || t.admin):
		return errors.New("it has the right to write, but no uid that owns the entries")
	case t.UID != nil && *t.UID < 0:
		return errors.New("the uid is negative")
	}
	return nil
}

// find returns the entry of a token. Its running time reveals nothing about similar digests.
func (list tokens) find(token string) (found *Token) {
	digest := sha256.Sum256([]byte(token))
	for i := range list {
		if subtle.ConstantTimeCompare(digest[:], list[i].digest[:]) == 1 {
			found = &list[i]
		}
	}
	return found
}

// caller returns the caller that a token stands for.
func (t *Token) caller() Caller {
	c := noCaller
	c.Admin = t.admin
	if t.UID != nil {
		c.UID = *t.UID
	}
	return c
}

// ownTokenFile is the path of the token that the daemon made for itself.
func ownTokenFile(stateDir string) string { return filepath.Join(stateDir, "token") }

// ownToken reads or makes the daemon's own token, which has all rights. Without a state folder there is none, as no
// user could read it.
func ownToken(stateDir string) (tokens, string, error) {
	if stateDir == "off" {
		return nil, "", errors.New("to serve TCP without a state folder, name a file of tokens with --tokens")
	}
	path := ownTokenFile(stateDir)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, "", err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, "", fmt.Errorf("other users may read %s, a token with all rights: remove the file, so that a new token is made, or chmod go-rwx", path)
	}
	fresh, list, err := masterToken()
	if err != nil {
		return nil, "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) != len(fresh) {
		return list, fresh, writeWhole(path, []byte(fresh+"\n"), 0o600)
	}
	list[0].SHA256 = digestOf(token)
	return list, token, list[0].Check()
}

// masterToken makes a token with all rights.
func masterToken() (string, tokens, error) {
	token, entry := NewToken("own", os.Getuid(), "read", "write", "admin")
	err := entry.Check()
	return token, tokens{entry}, err
}

func digestOf(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

// writeWhole writes a file atomically, and returns when it is on disk, so that a client may rely on it. If the
// process is killed, the next call replaces the rest that it leaves.
func writeWhole(path string, data []byte, mode os.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fresh := path + ".new"
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	for _, names := range []string{dir, filepath.Dir(dir)} { // of the file, and of the folder, which may be new
		if err := syncFolder(names); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
