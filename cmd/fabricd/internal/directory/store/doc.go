// Package store has the types of a directory's contents and the interface of its implementations: a single node
// (package local) or an etcd cluster (package cluster).
package store
