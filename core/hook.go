package core

// Hook stands above every stack of a registry, whatever it is made of: it changes what stacks offer, and is given each fabric that is opened. Strict mode
// is one (docs/strict.md). Layers on the way down never see it.
type Hook interface {
	// Offer is what becomes of offer, a copy of one of the Infos of the provider at the top of a stack, which the hook may change; or the reason why
	// nothing becomes of it. hints may be nil.
	Offer(offer, hints *Info) (reason string)
	// Narrow completes info, an offer that was narrowed to hints, which may be nil, and is about to become a result.
	Narrow(info, hints *Info)
	// OpenFabric returns a fabric over that of info, which is open and belongs to it then.
	OpenFabric(info *Info, below FabricDriver) (FabricDriver, error)
}

// SetHook has o stand above all stacks of r; nil for nothing, as it is at first. Call it before r is used.
func (r *Registry) SetHook(o Hook) { r.hook = o }

// offers are the Infos of p for base, changed by the hook if p is the top of the stack looked at.
func (g *getter) offers(p Provider, base, hints *Info) []*Info {
	list := p.Infos(base)
	o := g.reg.hook
	if o == nil || g.stack.top() != p {
		return list
	}
	kept := make([]*Info, len(list)) // a layer's kinds of endpoint keep their places
	for k, offer := range list {
		changed := offer.Dup()
		changed.below = offer.below
		if reason := o.Offer(changed, hints); reason != "" {
			g.refuse(g.stack.name(), offer, "", stageEPType, reason)
			continue
		}
		kept[k] = changed
	}
	return kept
}
