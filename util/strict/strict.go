package strict

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"gofabric/core"
)

// Hook is strict mode with one profile (core.Hook). Its methods are safe for concurrent use.
type Hook struct {
	profile *Profile
	log     io.Writer

	mu   sync.Mutex
	rand *rand.Rand // nil: the order does not change
	said map[string]bool
	open map[*state]bool // endpoints
}

// New returns the hook that FI_STRICT selects, with the seed of FI_STRICT_SEED. It returns nil if FI_STRICT is not
// set, and an *OpError with the known names for an unknown profile. The hook writes one line to log for each kind
// of misuse; nil is standard error.
func New(params *core.Params, log io.Writer) (core.Hook, error) {
	name, _ := params.Lookup("", "strict")
	if name = strings.ToLower(strings.TrimSpace(name)); name == "" || name == "0" || name == "off" {
		return nil, nil
	}
	p := lookup(name)
	if p == nil {
		return nil, &core.OpError{Op: "fi_getinfo", Object: "FI_STRICT", Err: core.ErrInval,
			Hint: fmt.Sprintf("there is no profile %q; there are: %s", name, strings.Join(names(), ", "))}
	}
	seed, err := params.Int("", "strict_seed")
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = os.Stderr
	}
	h := &Hook{profile: p, log: log, said: map[string]bool{}, open: map[*state]bool{}}
	if seed != 0 {
		h.rand = rand.New(rand.NewPCG(uint64(seed), 0x57))
	}
	return h, nil
}

// maxSaid is the largest number of lines that are remembered, and therefore written.
const maxSaid = 1000

// say writes a line about misuse, each line once.
func (h *Hook) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said[text] || len(h.said) >= maxSaid {
		return
	}
	h.said[text] = true
	fmt.Fprintf(h.log, "FI_STRICT=%s: %s\n", h.profile.Name, text)
}

// chance returns true once in n times on average.
func (h *Hook) chance(n int) bool { return h.pick(n) == 0 }

// pick returns a random number from 0 to n-1, or n-1 without a seed. n is at least 1.
func (h *Hook) pick(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rand == nil {
		return n - 1
	}
	return h.rand.IntN(n)
}

// misuse returns the error of a call that the application must not make. The text says what is wrong and what
// hardware would do.
func (h *Hook) misuse(op string, err core.Errno, format string, args ...any) error {
	e := &core.OpError{Op: op, Provider: "FI_STRICT=" + h.profile.Name, Err: err, Hint: fmt.Sprintf(format, args...)}
	h.say(e.Op + ": " + e.Hint)
	return e
}
