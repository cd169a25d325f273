// Calls makes the call that its arguments name, and prints the error. The test writes another file with the imports.
package main

import (
	"context"
	"fmt"
	"os"

	"gofabric"
)

func main() {
	ctx := context.Background()
	call, arg := os.Args[1], ""
	if len(os.Args) > 2 {
		arg = os.Args[2]
	}
	var err error
	switch call {
	case "open":
		_, err = gofabric.Open(ctx, gofabric.Config{Provider: arg})
	case "dial":
		_, err = gofabric.Dial(ctx, arg, gofabric.Config{})
	case "name":
		_, err = gofabric.Open(ctx, gofabric.Config{Name: arg})
	}
	fmt.Println(err)
}
