package outbox

import (
	"strings"
	"testing"
)

func TestOnlyAWellFormedTraceparentIsPassedOn(t *testing.T) {
	t.Parallel()
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for text, want := range map[string]string{
		trace: trace, "": "", "x": "", trace + "-1": "", strings.ToUpper(trace): "", "\n" + trace: "", trace + "\n": "",
	} {
		if got := Traceparent(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestReferenceIsKeptWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("r", MaxRefBytes)
	for text, want := range map[string]string{"ch_1": "ch_1", "é ~": "é ~", "": "", longest: longest, longest + "r": "", "\xff": "", "a\nb": "", "a\x7f": ""} {
		if got := KeepableRef(text); got != want {
			t.Errorf("%.20q: %.20q, want %.20q", text, got, want)
		}
	}
}
