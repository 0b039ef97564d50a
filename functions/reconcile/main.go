// Reconcile asks what became of the rows whose outcome is not known: a schedule starts it, it asks the
// remotes about what is due, settles what they know, and ends.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/landfall-dev/landfall/functions/internal/setup"
)

func main() {
	function, err := setup.Load(context.Background(), "reconcile")
	if err != nil {
		fmt.Fprintln(os.Stderr, "reconcile:", err)
		os.Exit(1)
	}
	lambda.Start((&handler{function}).handle)
}
