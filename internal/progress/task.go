package progress

// Work that comes up while a Source is being served, when the protocol engines must not be called.

// Task is something to do when no Source is being served. Run is called with the Engine's lock held.
type Task interface{ Run() }

// errandTasks is the errand of running the tasks.
const errandTasks = 1 << 30

// Soon has t.Run called once, when the lock is released at the latest: by whoever holds it, so that no goroutine needs to wake. Posts that t makes leave at
// once. It may be called from within Run. Locked.
func (e *Engine) Soon(t Task) {
	e.tasks = append(e.tasks, t)
	e.errand.Or(errandTasks)
}

// Later is Soon for a task that waits for others to make room: it is run after the next pass, or when the goroutine comes by. Locked.
func (e *Engine) Later(t Task) { e.tasks = append(e.tasks, t) }

// runTasks runs the tasks asked for until now; those asked for meanwhile have a turn of their own. Locked.
func (e *Engine) runTasks() {
	list := e.tasks
	e.tasks, e.idleTasks = e.idleTasks[:0], nil
	for i, t := range list {
		list[i] = nil
		t.Run()
	}
	e.idleTasks = list[:0]
	e.FlushStaged() // nobody is about to post more
}
