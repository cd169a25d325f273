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

// Hook is strict mode with one profile: what a registry's stacks are seen through (core.Hook). Its methods are safe for concurrent use.
type Hook struct {
	profile *Profile
	log     io.Writer

	mu   sync.Mutex
	rand *rand.Rand // nil: nothing changes places
	said map[string]bool
	open map[*state]bool // endpoints
}

// New returns the hook that FI_STRICT asks for, seeded by FI_STRICT_SEED; nil if it is not set, and an *OpError naming the known ones for a profile that
// there is not. Misuse is told to log, one line for each kind of it; nil is standard error.
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

// maxSaid bounds how many lines are remembered, and so how many are written.
const maxSaid = 1000

// say writes a line about misuse, once.
func (h *Hook) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said[text] || len(h.said) >= maxSaid {
		return
	}
	h.said[text] = true
	fmt.Fprintf(h.log, "FI_STRICT=%s: %s\n", h.profile.Name, text)
}

// chance returns true once in n times.
func (h *Hook) chance(n int) bool { return h.pick(n) == 0 }

// pick returns a number from 0 to n-1, the highest one without a seed; n is at least 1.
func (h *Hook) pick(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rand == nil {
		return n - 1
	}
	return h.rand.IntN(n)
}

// misuse makes the error of a call that the application must not make: text says what is wrong, and what hardware would do.
func (h *Hook) misuse(op string, err core.Errno, format string, args ...any) error {
	e := &core.OpError{Op: op, Provider: "FI_STRICT=" + h.profile.Name, Err: err, Hint: fmt.Sprintf(format, args...)}
	h.say(e.Op + ": " + e.Hint)
	return e
}
