package schema

// NamePattern is the form of the names of destinations, groups and consumers, as a regular expression for a whole
// name. [IsName] is the check.
const NamePattern = `[a-z0-9][a-z0-9-]{0,62}`

// IsName reports whether s has the form of [NamePattern].
func IsName(s string) bool {
	if s == "" || len(s) > 63 {
		return false
	}
	for i, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0) {
			return false
		}
	}
	return true
}
