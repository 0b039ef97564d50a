package schema

import (
	"regexp"
	"testing"
)

func FuzzIsNameAgreesWithItsPattern(f *testing.F) {
	for _, s := range []string{"", "a", "-a", "a-", "9", "A", "é", "a\n", "a_b", "a23456789-123456789-123456789-123456789-123456789-123456789-123", "a23456789-123456789-123456789-123456789-123456789-123456789-1234"} {
		f.Add(s)
	}
	pattern := regexp.MustCompile(`^(?:` + NamePattern + `)\z`)
	f.Fuzz(func(t *testing.T, s string) {
		if IsName(s) != pattern.MatchString(s) {
			t.Errorf("IsName(%q) = %t, the pattern says otherwise", s, IsName(s))
		}
	})
}
