package core

// Hook stands above every stack of a registry. It changes the stacks' offers, and receives each fabric that is
// opened. Strict mode is a hook (docs/strict.md). Layers below do not call it.
type Hook interface {
	// Offer changes offer, a copy of one Info of the provider at the top of a stack, or returns the reason why the
	// stack does not offer it. hints may be nil.
	Offer(offer, hints *Info) (reason string)
	// Narrow completes info, an offer that was narrowed to hints and will be a result. hints may be nil.
	Narrow(info, hints *Info)
	// OpenFabric returns a fabric over below, the open fabric of info, and takes ownership of below.
	OpenFabric(info *Info, below FabricDriver) (FabricDriver, error)
}

// SetHook sets the hook above all stacks of r, nil for none (the default). Call it before r is used.
func (r *Registry) SetHook(o Hook) { r.hook = o }

// offers returns the Infos of p for base. The hook changes them if p is the top of the current stack.
func (g *getter) offers(p Provider, base, hints *Info) []*Info {
	list := p.Infos(base)
	o := g.reg.hook
	if o == nil || g.stack.top() != p {
		return list
	}
	kept := make([]*Info, len(list)) // the position of a layer's Info says its kind of endpoint
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
