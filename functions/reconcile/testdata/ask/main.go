// Command ask is a user's function for lookups: it answers what the row's key says, or fails.
package main

import (
	"errors"

	"github.com/aws/aws-lambda-go/lambda"
)

type question struct {
	Key string `json:"idempotency_key"`
}

func main() {
	lambda.Start(func(q question) (map[string]string, error) {
		if q.Key == "crash" {
			return nil, errors.New("no idea about " + q.Key)
		}
		return map[string]string{"outcome": q.Key, "ref": "ref of " + q.Key}, nil
	})
}
