package trust

import (
	"bytes"
	"log"
	"os"
	"strings"
	"testing"
)

// TestPlain: the text for package log has all attributes that log/slog would get.
func TestPlain(t *testing.T) {
	var b bytes.Buffer
	log.SetOutput(&b)
	defer log.SetOutput(os.Stderr)
	plain("refused", "uid", 7, "at", "the socket")
	if !strings.HasSuffix(b.String(), "refused uid=7 at=\"the socket\"\n") {
		t.Errorf("%q", &b)
	}
}
