// Package need says what a test needs that not every machine has: programs, root, an interface of the kernel, time.
//
// A test whose prerequisites are not there is skipped. With GOFABRIC_PEERS=required it fails, so that a machine that is meant to have all of them shows what it
// lacks. What takes long is run only with GOFABRIC_MANY=1.
package need
