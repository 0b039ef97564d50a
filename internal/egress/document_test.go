package egress_test

import (
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/egress"
)

func TestPointerFindsTheValueThatItNames(t *testing.T) {
	t.Parallel()
	document, trouble := egress.ParseDocument([]byte(`{"id": "ch_1", "n": 12345678901234567890, "f": 1.50, "t": true, "z": null, "a": ["x", {"b": "y"}],
		"": "empty", "a/b": "slash", "m~n": "tilde", "~1": "literal", "o": {}, "é": "accent", "01": "zero one"}`))
	if trouble != "" {
		t.Fatal(trouble)
	}
	const wrongType = "\x00"
	for _, tc := range []struct{ pointer, want string }{
		{"/id", "ch_1"}, {"/n", "12345678901234567890"}, {"/f", "1.50"}, {"/t", "true"},
		{"/a/0", "x"}, {"/a/1/b", "y"}, {"/", "empty"}, {"/a~1b", "slash"},
		{"/m~0n", "tilde"}, {"/~01", "literal"}, {"/é", "accent"}, {"/01", "zero one"},
		{"/z", ""}, {"/z/deeper", ""}, {"/none", ""}, {"/none/deeper", ""}, {"/ID", ""}, {"/a/2", ""},
		{"/a", wrongType}, {"/o", wrongType}, {"", wrongType}, {"/id/0", wrongType}, {"/a/x", wrongType},
		{"/a/-", wrongType}, {"/a/-1", wrongType}, {"/a/00", wrongType}, {"/a/+1", wrongType},
	} {
		p, err := egress.ParsePointer(tc.pointer)
		if err != nil {
			t.Errorf("%q: %v", tc.pointer, err)
			continue
		}
		got, fits := document.Find(p)
		if fits != (tc.want != wrongType) || fits && got != tc.want {
			t.Errorf("%q: got %q, %v", tc.pointer, got, fits)
		}
	}
}

func TestBodyThatIsNotOneDocumentIsRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]egress.Trouble{
		`"whole"`: "", " {\"id\":\"1\"}\n": "", `[{"a":1},{"a":2}]`: "", `{"a":{"a":1}}`: "",
		"": egress.BodyInvalid, "no": egress.BodyInvalid, `{"id":"1"`: egress.BodyInvalid, `{"id":"1"} x`: egress.BodyInvalid,
		`{"id":"1"}{"id":"2"}`: egress.BodyInvalid, `"a" "b"`: egress.BodyInvalid, "{\"id\":\"\xff\"}": egress.BodyInvalid,
		strings.Repeat("[", 100_000): egress.BodyInvalid, strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000): egress.BodyInvalid,
		`{"id":"1","id":"2"}`: egress.BodyAmbiguous, `{"id":"1","id":"1"}`: egress.BodyAmbiguous, `{"id":"1","\u0069d":"2"}`: egress.BodyAmbiguous,
		`{"id":"1","more":[{"x":1,"x":2}]}`: egress.BodyAmbiguous,
	} {
		if _, got := egress.ParseDocument([]byte(body)); got != want {
			t.Errorf("%.40q: %q, want %q", body, got, want)
		}
	}
	if _, got := egress.ParseDocument(nil); got != egress.BodyIncomplete {
		t.Errorf("no body: %q", got)
	}
}

// JSON readers disagree about which of two values under one name counts.
func TestReferenceInAnAmbiguousBodyIsDropped(t *testing.T) {
	t.Parallel()
	remote, err := egress.NewRemote(egress.RemoteOptions{RefPointer: "/id"})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"id":"ch_1"}`: "ch_1", `{"id":"ch_1","id":"ch_2"}`: "", `{"id":"ch_1","more":{"x":1,"x":2}}`: "", `{"id":["ch_1"]}`: "", `{}`: "", ``: "",
	} {
		if got := remote.Ref(&egress.Answer{Status: 200, Body: []byte(body)}); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestMalformedPointerIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"id", "id/", "/~", "/~2", "/a~", "#/id", " /id"} {
		if _, err := egress.ParsePointer(bad); err == nil {
			t.Errorf("%q is accepted", bad)
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
		document, trouble := egress.ParseDocument(body)
		if trouble != "" {
			return
		}
		if found, _ := document.Find(p); len(found) > 3*len(body) { // a byte may become U+FFFD
			t.Errorf("found %d bytes in %d", len(found), len(body))
		}
	})
}
