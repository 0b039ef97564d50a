package desk_test

import (
	"testing"

	"github.com/landfall-dev/landfall/internal/desk"
)

func TestNoEndpointElsewhereIsTakenForThisMachine(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:4566": true, "http://localhost:4566": true, "https://[::1]:8000": true, "http://127.8.9.1": true,
		"":      false,
		"4566":  false,
		"http:": false,
		"https://dynamodb.us-east-1.amazonaws.com": false,
		"http://localhost.example.com":             false,
		"http://127.0.0.1.example.com":             false,
		"http://127.0.0.1@example.com":             false,
		"http://example.com#127.0.0.1":             false,
		"http://example.com/?127.0.0.1":            false,
		"http://0.0.0.0:4566":                      false,
		"http://[::]:4566":                         false,
		"http://10.0.0.1:4566":                     false,
		"http://169.254.169.254":                   false,
		"file:///127.0.0.1":                        false,
		"http://127.1:4566":                        false,
		"http://2130706433:4566":                   false,
		"http://127.0.0.1:4566\nhttp://x":          false,
	} {
		if err := desk.Loopback(endpoint); (err == nil) != want {
			t.Errorf("%q: %v, want allowed = %v", endpoint, err, want)
		}
	}
}
