package progress

// Inlet holds posts that were made without the Engine's lock: receives of C programs (cmd/libfabric). A call into
// Go for each of them would cost more than the receive itself. Its methods are called locked.
type Inlet interface {
	// Take posts what waits in the inlet. Every pass begins with it.
	Take()
	// Shut(true) reports that posts must not wait in the inlet from now on, because no caller makes passes or a
	// reader sleeps. Take follows. A post that finds the inlet shut only after it was put there calls
	// Engine.Settle.
	Shut(on bool)
}

// AddInlet makes every pass begin with in.Take. Locked.
func (e *Engine) AddInlet(in Inlet) {
	e.inlets = append(e.inlets, in)
	in.Shut(e.armed)
}

// DropInlet ends AddInlet. Locked.
func (e *Engine) DropInlet(in Inlet) {
	for i, other := range e.inlets {
		if other == in {
			e.inlets = append(e.inlets[:i:i], e.inlets[i+1:]...)
			return
		}
	}
}

// Settle posts what waits in the inlets, and transmits what results from it. Locked.
func (e *Engine) Settle() {
	e.takeInlets()
	e.FlushStaged()
}

func (e *Engine) takeInlets() {
	for _, in := range e.inlets {
		in.Take()
	}
}

// shutInlets shuts all inlets when the goroutine takes over, and opens them when it gives way. Locked.
func (e *Engine) shutInlets(on bool) {
	for _, in := range e.inlets {
		in.Shut(on)
		if on {
			in.Take()
		}
	}
}
