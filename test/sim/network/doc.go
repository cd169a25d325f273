// Package network is the simulated network of all tests: an event queue with virtual time, randomness from one seed, and datagrams that are lost, repeated,
// reordered, damaged, delayed, or held up by a queue in front of a slow wire. It imports no engine, so that the tests of each engine can use it as package
// sim does.
package network
