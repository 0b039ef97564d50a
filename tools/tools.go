//go:build tools

// Package tools pins what building and showing Landfall needs and the product itself never imports:
// staticcheck, and the module whose test data are the payloads of `make run`.
package tools

import (
	_ "github.com/go-playground/webhooks/v6/github"
)
