// Package loop is a provider of fabrics written outside gofabric's module: endpoints of one process that hand each other messages in memory. It shows what a
// provider needs: the driver interfaces of package core, and the queues and vectors of packages cq and av. See loop_test.go for how an application opens it.
package loop
