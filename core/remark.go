package core

// Remark says how something of what GetInfo returns is done, where there is more than one way.
type Remark struct {
	Provider  string
	Interface string
	EPType    EPType
	Text      string
}

// String is one line for ofi info --why.
func (r Remark) String() string {
	return Refusal{Provider: r.Provider, Interface: r.Interface, EPType: r.EPType, Reason: r.Text}.String()
}
