package core

// Remark says how a provider does something that GetInfo returned, if there is more than one way.
type Remark struct {
	Provider  string
	Interface string
	EPType    EPType
	Text      string
}

// String returns a line for ofi info --why.
func (r Remark) String() string {
	return Refusal{Provider: r.Provider, Interface: r.Interface, EPType: r.EPType, Reason: r.Text}.String()
}
