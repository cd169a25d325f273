// Hello sends a message over tcp from one endpoint to another. It is as small as a program of the root package can be,
// and imports only tcp.
package main

import (
	"context"
	"fmt"
	"log"

	"gofabric"
	_ "gofabric/provider/tcp"
)

func main() {
	ctx := context.Background()
	a, err := gofabric.Open(ctx, gofabric.Config{Node: "127.0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := gofabric.Open(ctx, gofabric.Config{Node: "127.0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	toB, err := a.InsertAddr(b.Name())
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if err := a.Send(ctx, toB, []byte("hello, fabric")); err != nil {
			log.Fatal(err)
		}
	}()
	buf := make([]byte, 64)
	r, err := b.Recv(ctx, gofabric.AnyPeer, buf)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", buf[:r.Len])
}
