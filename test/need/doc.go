// Package need checks prerequisites of tests that not every machine meets: programs, root, an interface of the kernel,
// time.
//
// A test without its prerequisites is skipped. With GOFABRIC_PEERS=required it fails, so that a machine that should
// meet all of them shows what it lacks. Long tests run only with GOFABRIC_MANY=1.
package need
