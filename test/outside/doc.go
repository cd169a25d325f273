// Package loop is a provider written outside of gofabric's module. Its endpoints exchange messages in the memory of
// one process. It shows what a provider needs: the driver interfaces of package core, and the queues and vectors of
// packages cq and av. loop_test.go shows how an application opens it.
package loop
