package setup

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

// Start is the main of the function of that name: it loads what the function works with, and handles events until
// Lambda ends the process. What is wrong before the first event ends it at once, with a line that says so.
func Start[F any](name string, load func(context.Context, string) (F, error), handler func(F) any) {
	function, err := load(context.Background(), name)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	lambda.Start(handler(function))
}
