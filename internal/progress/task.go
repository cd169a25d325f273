package progress

// Tasks: work that comes up while a Source is being served, when protocol engines must not be called.

// Task is work to do when no Source is being served. Run is called with the Engine's lock held.
type Task interface{ Run() }

// pendingTasks asks for the tasks to be run.
const pendingTasks = 1 << 30

// RunOnUnlock arranges one call of t.Run, no later than the release of the lock. The holder of the lock makes it,
// so that no goroutine needs to wake. Posts that t makes leave at once. Run may call RunOnUnlock. Locked.
func (e *Engine) RunOnUnlock(t Task) {
	e.tasks = append(e.tasks, t)
	e.pending.Or(pendingTasks)
}

// RunAfterPass is RunOnUnlock for a task that waits until others make room. It runs after the next pass of a caller
// or of the goroutine. Locked.
func (e *Engine) RunAfterPass(t Task) { e.tasks = append(e.tasks, t) }

// runTasks runs the tasks asked for until now. Tasks that these ask for run in the next turn. Locked.
func (e *Engine) runTasks() {
	list := e.tasks
	e.tasks, e.idleTasks = e.idleTasks[:0], nil
	for i, t := range list {
		list[i] = nil
		t.Run()
	}
	e.idleTasks = list[:0]
	e.FlushStaged() // no more posts are about to follow
}
