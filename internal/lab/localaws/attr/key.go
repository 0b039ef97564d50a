package attr

import "strings"

// AppendKey appends an encoding of a key value whose byte order is the order of the values of its type, and of which no
// encoding is a prefix of another one, so that encodings can be joined into compound keys.
func AppendKey(dst []byte, v Value) []byte {
	if n, ok := v.(Number); ok {
		return appendNumberKey(dst, n)
	}
	if _, ok := text(v); ok {
		return append(AppendKeyPrefix(dst, v), 0, 1)
	}
	return dst
}

// AppendKeyPrefix appends what the encodings of all strings (or binaries) that begin with v begin with.
func AppendKeyPrefix(dst []byte, v Value) []byte {
	s, _ := text(v)
	return append(dst, strings.ReplaceAll(s, "\x00", "\x00\xff")...)
}

// appendNumberKey: sign, exponent, digits, and an end below any digit; all of it inverted for a negative number.
func appendNumberKey(dst []byte, n Number) []byte {
	if n.sign() == 0 {
		return append(dst, 0x80)
	}
	start := len(dst)
	dst = append(dst, 0x81, byte(n.exp-minExp))
	dst = append(append(dst, n.digits...), 0)
	for i := start; n.neg && i < len(dst); i++ {
		dst[i] = ^dst[i]
	}
	return dst
}
