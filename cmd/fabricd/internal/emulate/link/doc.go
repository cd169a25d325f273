// Package link is one direction of an emulated cable: a queue, a line with a rate, and a way on which frames are late, lost, doubled, overtaken or damaged.
//
// It does no I/O and reads no clock. What becomes of a frame depends on the seed, the settings, the time and the frame's number alone: a hash of seed and
// number takes the place of a random generator, so that a change of settings at frame 1,000 leaves the fate of frame 2,000 as it was. Frames to one node and
// frames to groups (broadcasts, router solicitations, ...) are numbered apart: what the kernels send by themselves does not shift the losses of the rest.
//
// internal/impair does the same to datagrams that have no headers yet and stand in runs; its judgements carry no frame, queue of frames, mark or burst, so
// little of it would be left here.
package link
