//go:build foreign

package foreign

import (
	"strings"
	"testing"
)

// TestCommandLineKeepsSecrets puts, rotates and reads a secret as docs/local-aws.md describes.
func TestCommandLineKeepsSecrets(t *testing.T) {
	d := newDesk(t)
	secret := func(args ...string) string {
		return strings.TrimSuffix(string(d.run("aws", append([]string{"secretsmanager", "--output", "text"}, args...)...)), "\n")
	}
	arn := secret("create-secret", "--name", "partner/api", "--secret-string", `{"key": "one"}`, "--query", "ARN")
	secret("put-secret-value", "--secret-id", "partner/api", "--secret-string", `{"key": "two"}`)
	for _, id := range []string{"partner/api", arn} {
		if got := secret("get-secret-value", "--secret-id", id, "--query", "SecretString"); got != `{"key": "two"}` {
			t.Errorf("%s is %s", id, got)
		}
	}
	if got := secret("get-secret-value", "--secret-id", arn, "--version-stage", "AWSPREVIOUS", "--query", "SecretString"); got != `{"key": "one"}` {
		t.Errorf("the previous version is %s", got)
	}
	secret("delete-secret", "--secret-id", arn, "--force-delete-without-recovery")
}
