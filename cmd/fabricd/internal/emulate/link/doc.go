// Package link is one direction of an emulated link: a queue, a line with a rate, and a path on which frames are
// delayed, lost, duplicated, reordered or corrupted.
//
// It does no I/O and reads no clock. The seed, the settings, the time and the frame's number alone decide what
// happens to a frame. A hash of seed and number replaces a random generator, so a change of settings at frame 1,000
// leaves the fate of frame 2,000 as it was. Frames to one node and frames to groups (broadcasts, router
// solicitations, ...) are numbered separately: what the kernels send by themselves does not shift the losses of the
// rest.
//
// internal/impair does the same to datagrams that have no headers yet and come in GSO batches. Its decisions carry
// no frame, queue of frames, mark or burst, so little of it could be shared.
package link
