package attr

import "strings"

// AppendKey appends an encoding of a key value whose byte order is the order of the values of its type, and of which no
// encoding is a prefix of another one, so that encodings can be joined into compound keys.
func AppendKey(dst []byte, v Value) []byte {
	if n, ok := v.(Number); ok {
		return appendNumberKey(dst, n)
	}
	if s, ok := text(v); ok {
		return append(escapeZeros(dst, s), 0, 1)
	}
	return dst
}

// AppendKeyPrefix appends what the encodings of all strings (or binaries) that begin with v begin with.
func AppendKeyPrefix(dst []byte, v Value) []byte {
	s, _ := text(v)
	return escapeZeros(dst, s)
}

func escapeZeros(dst []byte, s string) []byte {
	if strings.IndexByte(s, 0) < 0 {
		return append(dst, s...)
	}
	for i := range len(s) {
		dst = append(dst, s[i])
		if s[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	return dst
}

// appendNumberKey: sign, then exponent and digits, inverted for a negative number, and an end below (above) any digit.
func appendNumberKey(dst []byte, n Number) []byte {
	switch n.sign() {
	case 0:
		return append(dst, 0x80)
	case 1:
		dst = append(dst, 0x81, byte(n.exp-minExp))
		return append(append(dst, n.digits...), 0)
	}
	dst = append(dst, 0x7f, ^byte(n.exp-minExp))
	for _, d := range []byte(n.digits) {
		dst = append(dst, ^d)
	}
	return append(dst, 0xff)
}
