// Dispatch is the sweep: a schedule starts it, it claims what is due, sends it, settles it, and ends.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/landfall-dev/landfall/functions/internal/setup"
)

func main() {
	function, err := setup.Load(context.Background(), "dispatch")
	if err != nil {
		fmt.Fprintln(os.Stderr, "dispatch:", err)
		os.Exit(1)
	}
	lambda.Start((&handler{function}).handle)
}
