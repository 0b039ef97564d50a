package attr

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"regexp"
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

// decimal is a number's text: its sign, the digits before and behind the point, and the exponent.
var decimal = regexp.MustCompile(`^([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$`)

// ParseNumber reads decimal text with an optional sign, fraction and exponent.
func ParseNumber(text string) (Number, error) {
	parts := decimal.FindStringSubmatch(text)
	if parts == nil || parts[2]+parts[3] == "" {
		return Number{}, fmt.Errorf("%w: %s", ErrNotNumber, text)
	}
	shift, _ := strconv.Atoi(cmp.Or(parts[4], "0")) // at the end of its range if it is out of it
	const far = 1 << 30                             // whatever the digits do, that far out stays out of range
	return normalise(parts[1] == "-", parts[2]+parts[3], len(parts[2])+min(max(shift, -far), far))
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
	digits, point := n.digits, n.exp
	if point < 1 {
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	}
	digits += strings.Repeat("0", max(0, point-len(digits)))
	text := digits[:point]
	if point < len(digits) {
		text += "." + digits[point:]
	}
	if n.neg {
		return "-" + text
	}
	return text
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
	m.neg = !m.neg
	return n.Add(m)
}

// scaled is the integer n / 10^scale; scale is at most the position of n's last digit.
func (n Number) scaled(scale int) *big.Int {
	i, _ := new(big.Int).SetString("0"+n.digits+strings.Repeat("0", n.exp-len(n.digits)-scale), 10)
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
