package progress

// Inlet is where posts wait that were made without the Engine's lock: receives of C programs (cmd/libfabric), for which a call into Go each would cost more
// than they do. Its methods are called locked.
type Inlet interface {
	// Take posts what waits. Every pass begins with it.
	Take()
	// Shut says whether posts must not wait from now on, for nobody is about to pass, or somebody sleeps; then Take follows. A post that finds out only
	// afterwards that it should not have waited calls Engine.Settle.
	Shut(on bool)
}

// AddInlet has every pass begin with in.Take. Locked.
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

// Settle posts what waits in the inlets, and transmits what that brings about. Locked.
func (e *Engine) Settle() {
	e.takeInlets()
	e.FlushStaged()
}

func (e *Engine) takeInlets() {
	for _, in := range e.inlets {
		in.Take()
	}
}

// shutInlets is called when the Engine's goroutine takes over, and when it gives way.
func (e *Engine) shutInlets(on bool) {
	for _, in := range e.inlets {
		in.Shut(on)
		if on {
			in.Take()
		}
	}
}
