package engine

import "gofabric/internal/atomics"

// Kind is a collective operation, numbered as enum fi_collective_op.
type Kind uint8

// The operations.
const (
	Barrier Kind = iota
	Broadcast
	AllToAll
	AllReduce
	AllGather
	ReduceScatter
	Reduce
	Scatter
	Gather
)

// Args says what to do. Sizes are bytes. Block is the part of one member for AllToAll, AllGather, ReduceScatter, Scatter and Gather, and all of the data for the
// others.
//
//	             In                Out
//	Broadcast    -                 Block
//	AllToAll     Members x Block   Members x Block
//	AllReduce    Block             Block
//	AllGather    Block             Members x Block
//	ReduceScatter Members x Block  Block
//	Reduce       Block             Block at the root
//	Scatter      Members x Block at the root   Block
//	Gather       Block             Members x Block at the root
//
// In and Out of AllReduce and Reduce may be the same memory; otherwise they must not overlap.
type Args struct {
	Kind                Kind
	Members, Rank, Root int
	Block               int
	In, Out             []byte
	Type                atomics.Datatype
	Op                  atomics.Op
}

// MaxMembers is how many members an operation can have.
const MaxMembers = 1 << 16

// Verb is what Next asks for.
type Verb uint8

const (
	Blocked Verb = iota // nothing until Finished
	Send                // send Buf to Peer
	Recv                // expect a message of exactly len(Buf) bytes from Peer
	Done                // the operation is complete at this member

	wait
	waitAll
	reduce
	move
)

// Step is a message to send or to expect. Number tells it from others of the operation between the same two members; Slot is for Finished.
type Step struct {
	Peer   int
	Number uint8
	Slot   int
	Buf    []byte
}

// instr is an instruction: Send and Recv of a; wait for the instructions x and y, -1 for none, or for all before it; reduce b into a; move b to a.
type instr struct {
	do   Verb
	done bool
	step uint8
	x, y int32 // x is the peer of Send and Recv
	a, b []byte
}

// Op is one operation at one member. The zero value is ready for Start, and a finished one for the next.
type Op struct {
	prog []instr
	pc   int
	seen int // how far a waitAll has come
	mem  []byte
	free []byte // of mem, while planning
	typ  atomics.Datatype
	op   atomics.Op
}

// keepMax is how much scratch memory a finished Op keeps, bytes, and keepProg how many instructions.
const (
	keepMax  = 4 << 20
	keepProg = 4096
)

// Start plans the operation. The buffers are borrowed until Done, or until everything that Next has asked for has finished.
func (o *Op) Start(a *Args) {
	o.prog, o.pc, o.seen = o.prog[:0], 0, 0
	o.typ, o.op = a.Type, a.Op
	if a.Members > 1 {
		o.plan(a)
	} else {
		o.alone(a)
	}
	o.add(instr{do: waitAll})
}

// Reset forgets the buffers of an operation that has ended.
func (o *Op) Reset() {
	clear(o.prog)
	o.prog = o.prog[:0]
	if cap(o.prog) > keepProg {
		o.prog = nil
	}
	if o.free = nil; cap(o.mem) > keepMax {
		o.mem = nil
	}
}

// plan chooses the algorithm.
func (o *Op) plan(a *Args) {
	switch a.Kind {
	case Barrier:
		o.barrier(a)
	case Broadcast:
		o.broadcast(a)
	case AllToAll:
		o.allToAll(a)
	case AllReduce:
		o.allReduce(a)
	case AllGather:
		o.allGather(a)
	case ReduceScatter:
		o.reduceScatter(a)
	case Reduce:
		o.reduceTo(a)
	case Scatter:
		o.scatter(a)
	case Gather:
		o.gather(a)
	}
}

// alone is the operation of the only member.
func (o *Op) alone(a *Args) {
	if a.Kind != Barrier && a.Kind != Broadcast {
		o.move(a.Out[:a.Block], a.In[:a.Block])
	}
}

// Next executes until there is something for the driver to do. After Blocked it goes on when Finished was called.
func (o *Op) Next(s *Step) Verb {
	for {
		at := o.pc
		in := &o.prog[at]
		switch in.do {
		case Send, Recv:
			o.pc++
			*s = Step{Peer: int(in.x), Number: in.step, Slot: at, Buf: in.a}
			return in.do
		case wait:
			if in.x >= 0 && !o.prog[in.x].done || in.y >= 0 && !o.prog[in.y].done {
				return Blocked
			}
		case waitAll:
			for ; o.seen < at; o.seen++ {
				if p := &o.prog[o.seen]; !p.done && (p.do == Send || p.do == Recv) {
					return Blocked
				}
			}
			if at == len(o.prog)-1 {
				return Done
			}
		case reduce:
			atomics.Apply(o.typ, o.op, in.a, in.b) // checked by who made the Args
		case move:
			copy(in.a, in.b)
		}
		o.pc++
	}
}

// Slot returns the peer and the length, bytes, of a Step.
func (o *Op) Slot(slot int) (peer, n int) { return int(o.prog[slot].x), len(o.prog[slot].a) }

// Expects says whether a receive from peer has been asked for and has not finished.
func (o *Op) Expects(peer int) bool {
	for i := range o.prog[:o.pc] {
		if in := &o.prog[i]; in.do == Recv && !in.done && int(in.x) == peer {
			return true
		}
	}
	return false
}

// Heard says whether a receive from peer has finished.
func (o *Op) Heard(peer int) bool {
	for i := range o.prog[:o.pc] {
		if in := &o.prog[i]; in.do == Recv && in.done && int(in.x) == peer {
			return true
		}
	}
	return false
}

// Finished says that the send or receive of a Step has finished.
func (o *Op) Finished(slot int) { o.prog[slot].done = true }

// What plans are made of.

func (o *Op) add(in instr) int32 {
	o.prog = append(o.prog, in)
	return int32(len(o.prog) - 1)
}

func (o *Op) send(peer, step int, b []byte) int32 {
	return o.add(instr{do: Send, x: int32(peer), step: uint8(step), a: b})
}

func (o *Op) recv(peer, step int, b []byte) int32 {
	return o.add(instr{do: Recv, x: int32(peer), step: uint8(step), a: b})
}

func (o *Op) wait(x, y int32)         { o.add(instr{do: wait, x: x, y: y}) }
func (o *Op) waitAll()                { o.add(instr{do: waitAll}) }
func (o *Op) reduce(a, b []byte)      { o.add(instr{do: reduce, a: a, b: b}) }
func (o *Op) move(a, b []byte)        { o.add(instr{do: move, a: a, b: b}) }
func mod(i, n int) int                { return (i + n) % n }
func same(a, b []byte) bool           { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }
func block(b []byte, i, n int) []byte { return b[i*n : (i+1)*n] }

// align is how scratch memory is aligned, bytes: for the arithmetic.
const align = 64

// reserve makes room for n pieces of scratch memory, of total bytes altogether.
func (o *Op) reserve(n, total int) {
	if total += n * align; cap(o.mem) < total {
		o.mem = make([]byte, total)
	}
	o.free = o.mem[:total]
}

// scratch takes one of them.
func (o *Op) scratch(size int) []byte {
	b := o.free[:size:size]
	o.free = o.free[(size+align-1)&^(align-1):]
	return b
}
