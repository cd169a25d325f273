package schedule

import (
	"gofabric/internal/atomics"
	"slices"
)

// A schedule is a straight program: sends and receives start in order, and a wait names the instruction that must
// have finished. There are no branches, because everything is known when the operation starts. Next executes the
// program until the driver has something to do.

// Kind is a collective operation. The numbers are those of enum fi_collective_op (fi_collective(3)).
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

// Args describes an operation. Sizes are in bytes. Block is the part of one member for AllToAll, AllGather,
// ReduceScatter, Scatter and Gather, and the whole data for the others.
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
// In and Out of AllReduce and Reduce may be the same memory. Otherwise they must not overlap.
type Args struct {
	Kind                Kind
	Members, Rank, Root int
	Block               int
	In, Out             []byte
	Type                atomics.Datatype
	Op                  atomics.Op
}

// MaxMembers is the most members of an operation.
const MaxMembers = 1 << 16

// Verb is what Next asks the driver to do, or an internal instruction.
type Verb uint8

const (
	Blocked Verb = iota // nothing before Finished is called
	Send                // send Buf to Peer
	Recv                // receive a message of exactly len(Buf) bytes from Peer
	Done                // the operation is complete at this member

	wait    // internal: wait for the instructions x and y, -1: none
	waitAll // internal: wait for all sends and receives before
	reduce  // internal: combine b into a
	move    // internal: copy b to a
)

// Step is a message to send or to receive. Number distinguishes it from other messages of the operation between the
// same two members. Slot identifies it in Finished.
type Step struct {
	Peer   int
	Number uint8
	Slot   int
	Buf    []byte
}

// instr is an instruction. Send and Recv have the peer in x and the message in a.
type instr struct {
	verb Verb
	done bool
	step uint8
	x, y int32 // the peer of Send and Recv; see wait
	a, b []byte
}

// Op is one operation at one member. The zero value is ready for Start, and so is an Op that has finished. It is
// not safe for concurrent use.
type Op struct {
	prog   []instr
	pc     int    // next instruction
	waited int    // instructions that a waitAll has checked
	mem    []byte // scratch memory, kept for the next operation
	free   []byte // rest of mem, while planning
	typ    atomics.Datatype
	op     atomics.Op
}

// Memory that a finished Op keeps.
const (
	keepMax  = 4 << 20 // bytes of scratch memory
	keepProg = 4096    // instructions
)

// Start plans the operation. The buffers are borrowed until Done or, if the operation is given up, until everything
// that Next asked for has finished.
func (o *Op) Start(a *Args) {
	o.prog, o.pc, o.waited = o.prog[:0], 0, 0
	o.typ, o.op = a.Type, a.Op
	if a.Members > 1 {
		o.plan(a)
	} else {
		o.single(a)
	}
	o.add(instr{verb: waitAll})
}

// Reset drops the references to the buffers of an operation that has ended, and memory beyond the limits.
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

// plan writes the program.
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

// single writes the program of the only member.
func (o *Op) single(a *Args) {
	if a.Kind != Barrier && a.Kind != Broadcast {
		o.move(a.Out[:a.Block], a.In[:a.Block])
	}
}

// Next executes the program until the driver has something to do: a Send or Recv that it describes in s, or Done.
// After Blocked the driver calls it again when it has called Finished.
func (o *Op) Next(s *Step) Verb {
	for {
		at := o.pc
		in := &o.prog[at]
		switch in.verb {
		case Send, Recv:
			o.pc++
			*s = Step{Peer: int(in.x), Number: in.step, Slot: at, Buf: in.a}
			return in.verb
		case wait:
			if in.x >= 0 && !o.prog[in.x].done || in.y >= 0 && !o.prog[in.y].done {
				return Blocked
			}
		case waitAll:
			for ; o.waited < at; o.waited++ {
				if p := &o.prog[o.waited]; !p.done && (p.verb == Send || p.verb == Recv) {
					return Blocked
				}
			}
			if at == len(o.prog)-1 {
				return Done
			}
		case reduce:
			atomics.Apply(o.typ, o.op, in.a, in.b) // the caller of Start has checked type and operation
		case move:
			copy(in.a, in.b)
		}
		o.pc++
	}
}

// Slot returns the peer and the length, in bytes, of the Step with this slot.
func (o *Op) Slot(slot int) (peer, n int) { return int(o.prog[slot].x), len(o.prog[slot].a) }

// Expects reports whether a receive from peer has been asked for and has not finished. The driver uses it when a
// connection ends.
func (o *Op) Expects(peer int) bool {
	return o.receives(peer, false)
}

// Received reports whether a receive from peer has finished.
func (o *Op) Received(peer int) bool {
	return o.receives(peer, true)
}

func (o *Op) receives(peer int, done bool) bool {
	return slices.ContainsFunc(o.prog[:o.pc], func(in instr) bool { return in.verb == Recv && in.done == done && int(in.x) == peer })
}

// Finished says that the send or receive with this slot has finished.
func (o *Op) Finished(slot int) { o.prog[slot].done = true }

// The functions that write instructions. They return the number of the instruction, for wait.

// add appends an instruction.
func (o *Op) add(in instr) int32 {
	o.prog = append(o.prog, in)
	return int32(len(o.prog) - 1)
}

// send appends the start of a send of b to peer.
func (o *Op) send(peer, step int, b []byte) int32 {
	return o.add(instr{verb: Send, x: int32(peer), step: uint8(step), a: b})
}

// recv appends the start of a receive of b from peer.
func (o *Op) recv(peer, step int, b []byte) int32 {
	return o.add(instr{verb: Recv, x: int32(peer), step: uint8(step), a: b})
}

// wait and waitAll append a wait, reduce and move a computation: see Verb.
func (o *Op) wait(x, y int32)    { o.add(instr{verb: wait, x: x, y: y}) }
func (o *Op) waitAll()           { o.add(instr{verb: waitAll}) }
func (o *Op) reduce(a, b []byte) { o.add(instr{verb: reduce, a: a, b: b}) }
func (o *Op) move(a, b []byte)   { o.add(instr{verb: move, a: a, b: b}) }

// mod is i modulo n for i from -n on. same reports whether two buffers begin at the same address. block is the i-th
// block of n bytes.
func mod(i, n int) int                { return (i + n) % n }
func same(a, b []byte) bool           { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }
func block(b []byte, i, n int) []byte { return b[i*n : (i+1)*n] }

// align is the alignment of scratch memory, in bytes: that of a cache line, and sufficient for every datatype.
const align = 64

// reserve makes room for n pieces of scratch memory with total bytes altogether.
func (o *Op) reserve(n, total int) {
	if total += n * align; cap(o.mem) < total {
		o.mem = make([]byte, total)
	}
	o.free = o.mem[:total]
}

// scratch returns the next piece.
func (o *Op) scratch(size int) []byte {
	b := o.free[:size:size]
	o.free = o.free[(size+align-1)&^(align-1):]
	return b
}
