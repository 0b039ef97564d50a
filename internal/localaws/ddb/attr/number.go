package attr

import (
	"cmp"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// Number is an exact decimal number: 0.d1d2d3... times ten to the power of exp. It is always normalised (no zero digit
// at either end; zero has none), so that two equal numbers are == and order needs no arithmetic.
type Number struct {
	neg    bool
	digits string
	exp    int
}

// The limits of DynamoDB: 38 significant digits, magnitudes from 1E-130 to 9.99...E+125.
// See https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	maxDigits = 38
	minExp    = -129
	maxExp    = 126
)

// Errors of ParseNumber and of arithmetic, in the service's words.
var (
	ErrNotNumber = errors.New("The parameter cannot be converted to a numeric value")
	ErrPrecision = errors.New("Attempting to store more than 38 significant digits in a Number")
	ErrOverflow  = errors.New("Number overflow. Attempting to store a number with magnitude larger than supported range")
	ErrUnderflow = errors.New("Number underflow. Attempting to store a number with magnitude smaller than supported range")
)

// ParseNumber reads decimal text with an optional sign, fraction and exponent.
func ParseNumber(text string) (Number, error) {
	rest, neg := text, false
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		neg, rest = rest[0] == '-', rest[1:]
	}
	mantissa, exponent := rest, "0"
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa, exponent = rest[:i], rest[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole+fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return Number{}, ErrNotNumber
	}
	shift, err := strconv.Atoi(exponent)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return Number{}, ErrNotNumber
	}
	const far = 1 << 30 // whatever the digits do, that far out stays out of range
	return normalise(neg, whole+fraction, len(whole)+min(max(shift, -far), far))
}

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

func normalise(neg bool, digits string, exp int) (Number, error) {
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	switch {
	case trimmed == "":
		return Number{}, nil
	case len(trimmed) > maxDigits:
		return Number{}, ErrPrecision
	case exp > maxExp:
		return Number{}, ErrOverflow
	case exp < minExp:
		return Number{}, ErrUnderflow
	}
	return Number{neg, trimmed, exp}, nil
}

// String is the canonical text: plain decimal, no exponent, no superfluous zeros.
func (n Number) String() string {
	if n.digits == "" {
		return "0"
	}
	var b strings.Builder
	if n.neg {
		b.WriteByte('-')
	}
	switch {
	case n.exp <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -n.exp))
		b.WriteString(n.digits)
	case n.exp >= len(n.digits):
		b.WriteString(n.digits)
		b.WriteString(strings.Repeat("0", n.exp-len(n.digits)))
	default:
		b.WriteString(n.digits[:n.exp])
		b.WriteByte('.')
		b.WriteString(n.digits[n.exp:])
	}
	return b.String()
}

// NumberOf is the number of an int.
func NumberOf(i int) Number {
	n, _ := ParseNumber(big.NewInt(int64(i)).String()) // an int has at most 19 digits
	return n
}

// Compare orders by value.
func (n Number) Compare(m Number) int {
	if c := cmp.Compare(n.sign(), m.sign()); c != 0 || n.digits == "" {
		return c
	}
	c := cmp.Compare(n.exp, m.exp)
	if c == 0 {
		c = strings.Compare(n.digits, m.digits)
	}
	return c * n.sign()
}

func (n Number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.neg:
		return -1
	}
	return 1
}

// Add is the exact sum, or an error if it does not fit the limits.
func (n Number) Add(m Number) (Number, error) {
	scale := min(n.exp-len(n.digits), m.exp-len(m.digits))
	sum := new(big.Int).Add(n.scaled(scale), m.scaled(scale))
	text := new(big.Int).Abs(sum).String()
	return normalise(sum.Sign() < 0, text, len(text)+scale)
}

// Sub is the exact difference, or an error if it does not fit the limits.
func (n Number) Sub(m Number) (Number, error) {
	if m.digits != "" {
		m.neg = !m.neg
	}
	return n.Add(m)
}

// scaled is the integer n / 10^scale; scale is at most the position of n's last digit.
func (n Number) scaled(scale int) *big.Int {
	if n.digits == "" {
		return new(big.Int)
	}
	i, _ := new(big.Int).SetString(n.digits+strings.Repeat("0", n.exp-len(n.digits)-scale), 10)
	if n.neg {
		i.Neg(i)
	}
	return i
}

// size is as measured on the service: a byte for two digits before the point, for two behind it, and one more.
func (n Number) size() int {
	whole := min(max(n.exp, 0), len(n.digits))
	size := 1 + (whole+1)/2 + (len(n.digits)-whole+1)/2
	if n.neg {
		size++
	}
	return size
}
