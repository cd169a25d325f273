package core

import (
	"fmt"
	"slices"
)

// Refusal says why GetInfo does not return something: a stack of providers as a whole, one of its kinds of endpoint, or one of its interfaces.
type Refusal struct {
	Provider  string // the stack's name, such as "tcp;ofi_rxm"
	Interface string // "" if the reason holds for all
	EPType    EPType // EPTypeUnspec if the reason holds for all
	Reason    string // names the field, what was asked for and what is offered
	stage     int
}

// String is one line for ofi info --why.
func (r Refusal) String() string {
	s := r.Provider
	if r.EPType != EPTypeUnspec {
		s += " " + r.EPType.String()
	}
	if r.Interface != "" {
		s += " " + r.Interface
	}
	return s + ": " + r.Reason
}

// refusals collects each reason once.
type refusals struct{ list []Refusal }

func (rs *refusals) add(r Refusal) {
	if !slices.Contains(rs.list, r) {
		rs.list = append(rs.list, r)
	}
}

// hint is a sentence with the refusal that came closest to being a result.
func (rs *refusals) hint() string {
	if len(rs.list) == 0 {
		return "no provider is available"
	}
	best := rs.list[0]
	for _, r := range rs.list[1:] {
		if r.stage > best.stage {
			best = r
		}
	}
	if n := len(rs.list) - 1; n > 0 {
		return fmt.Sprintf("%s; and %d more reasons: ofi info --why lists them", best, n)
	}
	return best.String()
}
