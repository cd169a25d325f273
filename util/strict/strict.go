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

// Overlay is strict mode with one profile: what a registry's stacks are seen through (core.Overlay). Its methods are safe for concurrent use.
type Overlay struct {
	profile *Profile
	log     io.Writer

	mu   sync.Mutex
	rand *rand.Rand // nil: nothing changes places
	said map[string]bool
	open map[*state]bool // endpoints
}

var _ core.Overlay = (*Overlay)(nil)

// New returns the overlay that FI_STRICT asks for, seeded by FI_STRICT_SEED; nil if it is not set, and an *OpError naming the known ones for a profile that
// there is not. Misuse is told to log, one line for each kind of it; nil is standard error.
func New(params *core.Params, log io.Writer) (core.Overlay, error) {
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
	o := &Overlay{profile: p, log: log, said: map[string]bool{}, open: map[*state]bool{}}
	if seed != 0 {
		o.rand = rand.New(rand.NewPCG(uint64(seed), 0x57))
	}
	return o, nil
}

// maxSaid bounds how many lines are remembered, and so how many are written.
const maxSaid = 1000

// say writes a line about misuse, once.
func (o *Overlay) say(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said[text] || len(o.said) >= maxSaid {
		return
	}
	o.said[text] = true
	fmt.Fprintf(o.log, "FI_STRICT=%s: %s\n", o.profile.Name, text)
}

// chance returns true once in n times.
func (o *Overlay) chance(n int) bool { return o.below(n) == 0 }

// below returns a number from 0 to n-1, the highest one without a seed; n is at least 1.
func (o *Overlay) below(n int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rand == nil {
		return n - 1
	}
	return o.rand.IntN(n)
}

// misuse makes the error of a call that the application must not make: text says what is wrong, and what hardware would do.
func (o *Overlay) misuse(op string, err core.Errno, format string, args ...any) error {
	e := &core.OpError{Op: op, Provider: "FI_STRICT=" + o.profile.Name, Err: err, Hint: fmt.Sprintf(format, args...)}
	o.say(e.Op + ": " + e.Hint)
	return e
}
