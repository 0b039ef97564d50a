//go:build tools

// Package tools pins modules that the product never imports: staticcheck and deadcode, which `make lint` runs, and the
// module whose test data are the payloads of `make run`.
package tools

import (
	_ "github.com/go-playground/webhooks/v6/github"
)
