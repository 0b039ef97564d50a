package setup

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

// Start is the main of the named function: it loads what the function works with, and handles events until Lambda ends the
// process. An error before the first event ends the process at once, with a line that says why.
func Start[F any](name string, load func(context.Context, string) (F, error), handler func(F) any) {
	function, err := load(context.Background(), name)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	lambda.Start(handler(function))
}
