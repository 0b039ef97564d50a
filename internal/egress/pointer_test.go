package egress_test

import (
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/egress"
)

func TestPointerFindsNothingElse(t *testing.T) {
	t.Parallel()
	const document = `{"id": "ch_1", "n": 12345678901234567890, "f": 1.50, "t": true, "z": null, "a": ["x", {"b": "y"}],
		"": "empty", "a/b": "slash", "m~n": "tilde", "~1": "literal", "o": {}, "é": "accent", "01": "zero one"}`
	const missing = "\x00"
	for _, tc := range []struct{ pointer, body, want string }{
		{"/id", document, "ch_1"}, {"/n", document, "12345678901234567890"}, {"/f", document, "1.50"}, {"/t", document, "true"},
		{"/a/0", document, "x"}, {"/a/1/b", document, "y"}, {"/", document, "empty"}, {"/a~1b", document, "slash"},
		{"/m~0n", document, "tilde"}, {"/~01", document, "literal"}, {"/é", document, "accent"}, {"/01", document, "zero one"},
		{"", `"whole"`, "whole"}, {"/id", `{"id":"1","id":"2"}`, "2"}, {"/id", " {\"id\":\"1\"}\n", "1"},
		{"/z", document, missing}, {"/a", document, missing}, {"/o", document, missing}, {"/none", document, missing},
		{"/a/2", document, missing}, {"/a/-", document, missing}, {"/a/-1", document, missing}, {"/a/00", document, missing},
		{"/a/+1", document, missing}, {"/a/x", document, missing}, {"/id/0", document, missing}, {"", document, missing},
		{"/id", "", missing}, {"/id", "no", missing}, {"/id", `{"id":"1"`, missing}, {"/id", `{"id":"1"} x`, missing},
		{"/id", `{"id":"1"}{"id":"2"}`, missing}, {"/id", "{\"id\":\"\xff\"}", missing}, {"", `"a" "b"`, missing},
		{"/id", strings.Repeat("[", 100_000), missing},
	} {
		p, err := egress.ParsePointer(tc.pointer)
		if err != nil {
			t.Errorf("%q: %v", tc.pointer, err)
			continue
		}
		got, ok := p.Find([]byte(tc.body))
		if ok != (tc.want != missing) || ok && got != tc.want {
			t.Errorf("%q in %.40q: got %q, %v", tc.pointer, tc.body, got, ok)
		}
	}
	for _, bad := range []string{"id", "id/", "/~", "/~2", "/a~", "#/id", " /id"} {
		if _, err := egress.ParsePointer(bad); err == nil {
			t.Errorf("%q is taken for a pointer", bad)
		}
	}
}

func FuzzPointer(f *testing.F) {
	f.Add("/a/0/b~1c", []byte(`{"a":[{"b/c":"x"}]}`))
	f.Add("", []byte(`"x"`))
	f.Add("/0", []byte(`[[`))
	f.Add("/~01", []byte("{\"~1\":1e400}"))
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		p, err := egress.ParsePointer(text)
		if err != nil {
			return
		}
		if text == "" != (len(p) == 0) || len(p) > 0 && strings.Count(text, "/") != len(p) {
			t.Errorf("%q has %d names", text, len(p))
		}
		if found, ok := p.Find(body); ok && len(found) > 3*len(body) { // a byte may become U+FFFD
			t.Errorf("found %d bytes in %d", len(found), len(body))
		}
	})
}
