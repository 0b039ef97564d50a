// Stream is the fast path: the table's stream tells it of rows that were just put, and it claims them, sends them and
// settles them before the sweep would.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/landfall-dev/landfall/functions/internal/setup"
)

func main() {
	function, err := setup.Load(context.Background(), "stream")
	if err != nil {
		fmt.Fprintln(os.Stderr, "stream:", err)
		os.Exit(1)
	}
	lambda.Start((&handler{function}).handle)
}
