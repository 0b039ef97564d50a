package attr

import (
	"bytes"
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func mustNumber(t *testing.T, text string) Number {
	t.Helper()
	n, err := ParseNumber(text)
	if err != nil {
		t.Fatalf("ParseNumber(%q): %v", text, err)
	}
	return n
}

func TestNumberKeepsEveryDigitInOneCanonicalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "+1": "1", "01.50": "1.5", "1e2": "100", "1.5E+2": "150", "12345e-3": "12.345",
		"-.5": "-0.5", "5.": "5", "1E-130": "0." + strings.Repeat("0", 129) + "1", "0e999999999999": "0",
		"99999999999999999999999999999999999999":       "99999999999999999999999999999999999999",
		"-0.00000000000000000000000000000000000000123": "-0.00000000000000000000000000000000000000123",
		"9.9999999999999999999999999999999999999E+125": "99999999999999999999999999999999999999" + strings.Repeat("0", 88),
	} {
		if got := mustNumber(t, text).String(); got != want {
			t.Errorf("ParseNumber(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestNumberBeyondItsBoundsIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"": ErrNotNumber, " 1": ErrNotNumber, "1 ": ErrNotNumber, "NaN": ErrNotNumber, "Infinity": ErrNotNumber, "0x1": ErrNotNumber,
		"1e": ErrNotNumber, "e5": ErrNotNumber, ".": ErrNotNumber, "-": ErrNotNumber, "1.2.3": ErrNotNumber, "--1": ErrNotNumber,
		"1_000": ErrNotNumber, "1e1.5": ErrNotNumber, "١": ErrNotNumber,
		"1e126": ErrOverflow, "1e99999999999999999999": ErrOverflow, "1e-131": ErrUnderflow, "1e-99999999999999999999": ErrUnderflow,
		"123456789012345678901234567890123456789": ErrPrecision,
	} {
		if n, err := ParseNumber(text); !errors.Is(err, want) {
			t.Errorf("ParseNumber(%q) = %v, %v; want %v", text, n, err, want)
		}
	}
}

// someNumber draws numbers of every size, close to each other and far apart.
func someNumber(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(2) == 0 {
		b.WriteByte('-')
	}
	for range 1 + r.IntN(5) {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	b.WriteByte('.')
	for range 1 + r.IntN(5) {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	b.WriteString("e")
	b.WriteString(big.NewInt(int64(r.IntN(9) - 4)).String())
	return b.String()
}

func TestNumbersCompareAndAddAsRationalNumbers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	rat := func(s string) *big.Rat {
		x, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%q is no rational number", s)
		}
		return x
	}
	for range 20000 {
		a, b := someNumber(r), someNumber(r)
		x, y := mustNumber(t, a), mustNumber(t, b)
		want := rat(a).Cmp(rat(b))
		if got := x.Compare(y); got != want {
			t.Fatalf("Compare(%s, %s) = %d, want %d", a, b, got, want)
		}
		if got := bytes.Compare(AppendKey(nil, x), AppendKey(nil, y)); got != want {
			t.Fatalf("keys of %s and %s compare as %d, want %d", a, b, got, want)
		}
		if (x == y) != (want == 0) {
			t.Fatalf("%s == %s is %t", a, b, x == y)
		}
		sum, err := x.Add(y)
		if err != nil || rat(sum.String()).Cmp(new(big.Rat).Add(rat(a), rat(b))) != 0 {
			t.Fatalf("%s + %s = %s, %v", a, b, sum, err)
		}
		difference, err := x.Sub(y)
		if err != nil || rat(difference.String()).Cmp(new(big.Rat).Sub(rat(a), rat(b))) != 0 {
			t.Fatalf("%s - %s = %s, %v", a, b, difference, err)
		}
	}
}

func TestSumBeyondItsBoundsIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want error
	}{
		{"1e37", "0.1", ErrPrecision},
		{"9.9999999999999999999999999999999999999E+125", "1e88", ErrOverflow},
		{"1e125", "1e-130", ErrPrecision},
	} {
		if sum, err := mustNumber(t, c.a).Add(mustNumber(t, c.b)); !errors.Is(err, c.want) {
			t.Errorf("%s + %s = %s, %v; want %v", c.a, c.b, sum, err, c.want)
		}
	}
}

func TestKeysOfStringsAreDistinct(t *testing.T) {
	t.Parallel()
	words := []string{"", "\x00", "\x00\x00", "\x00\x01", "\x00\xff", "\x01", "a", "a\x00", "a\x00b", "a\x01", "aa", "b", "\xff", "\xff\xff"}
	for i, a := range words {
		for j, b := range words {
			x, y := AppendKey(nil, Binary(a)), AppendKey(nil, Binary(b))
			if got, want := bytes.Compare(x, y), strings.Compare(a, b); got != want {
				t.Errorf("keys of %q and %q compare as %d, want %d", a, b, got, want)
			}
			if i != j && bytes.HasPrefix(y, x) {
				t.Errorf("the key of %q begins with that of %q", b, a)
			}
			if prefix := AppendKeyPrefix(nil, Binary(a)); bytes.HasPrefix(y, prefix) != strings.HasPrefix(b, a) {
				t.Errorf("prefix %q of %q is wrong", a, b)
			}
		}
	}
}
