package trust

import (
	"bytes"
	"log"
	"os"
	"strings"
	"testing"
)

// TestPlain: what package log gets has all that log/slog gets.
func TestPlain(t *testing.T) {
	var b bytes.Buffer
	log.SetOutput(&b)
	defer log.SetOutput(os.Stderr)
	plain("refused", "uid", 7, "at", "the socket")
	if !strings.HasSuffix(b.String(), "refused uid=7 at=\"the socket\"\n") {
		t.Errorf("%q", &b)
	}
}
