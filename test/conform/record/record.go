package record

import (
	"errors"
	"slices"
	"sync"

	"gofabric/core"
)

// Key names a feature: a call, such as "fi_sendmsg". If Valued is set, it is the flag or value Bit of a call or of a
// kind of values, such as "fi_sendmsg" or "caps".
type Key struct {
	Of     string
	Bit    uint64
	Valued bool
}

// Outcome is the result of a feature on one stack.
type Outcome struct {
	Themes  []string     // themes in which it worked, in the order of the suite
	Refused []core.Errno // errors with which it was refused, in themes that passed
	Checked bool         // a test has reported it with Worked, after a check of its own
}

// Works reports whether a test has shown that the feature works.
func (o *Outcome) Works() bool { return o != nil && len(o.Themes) > 0 }

// Recorder records what the tests of one stack show. The results of a theme count if the theme passes.
type Recorder struct {
	mu    sync.Mutex
	now   map[Key]*seen
	asked map[*core.Info]*core.Info // the hints of results
	done  map[Key]*Outcome

	without []Key // features that are taken away (without.go)
}

// seen is what the current theme has shown of a feature.
type seen struct {
	worked  bool
	checked bool
	refused []core.Errno
}

// New returns an empty Recorder.
func New() *Recorder {
	return &Recorder{now: map[Key]*seen{}, asked: map[*core.Info]*core.Info{}, done: map[Key]*Outcome{}}
}

// End ends a theme. What was recorded since the previous one counts if passed is true.
func (r *Recorder) End(theme string, passed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, s := range r.now {
		if !passed {
			break
		}
		o := r.done[k]
		if o == nil {
			o = &Outcome{}
			r.done[k] = o
		}
		o.Checked = o.Checked || s.checked
		if s.worked {
			o.Themes = append(o.Themes, theme)
		}
		for _, e := range s.refused {
			if !slices.Contains(o.Refused, e) {
				o.Refused = append(o.Refused, e)
			}
		}
	}
	clear(r.now)
	clear(r.asked)
}

// Results returns what the ended themes have shown.
func (r *Recorder) Results() map[Key]*Outcome { return r.done }

// Worked records a feature that a test has checked, where no call shows that it works.
func (r *Recorder) Worked(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteLocked(Key{Of: name}, nil)
	r.now[Key{Of: name}].checked = true
}

// Refused records that a feature was refused with err.
func (r *Recorder) Refused(name string, err error) { r.note(Key{Of: name}, err) }

// note records the result of a use of k.
func (r *Recorder) note(k Key, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteLocked(k, err)
}

func (r *Recorder) noteLocked(k Key, err error) {
	s := r.now[k]
	if s == nil {
		s = &seen{}
		r.now[k] = s
	}
	if err == nil {
		s.worked = true
		return
	}
	var e core.Errno
	if errors.As(err, &e) && !slices.Contains(s.refused, e) {
		s.refused = append(s.refused, e)
	}
}

// call records a call that ended with err, and returns err.
func (r *Recorder) call(name string, err error) error {
	r.note(Key{Of: name}, err)
	return err
}

// Flags is any word of flags.
type Flags interface{ ~uint32 | ~uint64 }

// noteFlags is call, for a call with flags.
func noteFlags[F Flags](r *Recorder, name string, flags F, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteLocked(Key{Of: name}, err)
	r.bitsLocked(name, uint64(flags), err)
	return err
}

// bits records each bit of v as a feature of of.
func (r *Recorder) bits(of string, v uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bitsLocked(of, v, err)
}

func (r *Recorder) bitsLocked(of string, v uint64, err error) {
	for ; v != 0; v &= v - 1 {
		r.noteLocked(Key{of, v & -v, true}, err)
	}
}

// value records a value of a kind: an enumerator.
func (r *Recorder) value(of string, v uint64, err error) { r.note(Key{of, v, true}, err) }
