// Nothing is a function that does nothing: what every function of Lambda's runtime for Go pays to start.
package main

import "github.com/aws/aws-lambda-go/lambda"

func main() { lambda.Start(func() {}) }
