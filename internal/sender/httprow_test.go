package sender_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/sender"
)

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestOnlyAllowedHeadersOfARowAreSent(t *testing.T) {
	t.Parallel()
	var got http.Header
	remote := egresstest.Serve(t, func(c *egresstest.Conn) {
		got = c.ReadHead().Header
		c.Say("HTTP/1.1 200 OK\r\n\r\n")
	})
	s := newHTTP(t, sender.HTTPOptions{
		URL: remote.URL, KeyHeader: "x-key", Headers: map[string]string{"Authorization": "Bearer secret", "User-Agent": "ours"},
		RowHeaders: []string{"X-Tenant", "X-Text", "Authorization", "X-Key", "Traceparent", "Content-Type"},
	})
	row := order("{}")
	row.ContentType, row.Trace = "text/plain; charset=utf-8", trace
	row.Headers = map[string]string{
		"x-tenant": "acme", "X-Text": "Zoë\tZ", "Authorization": "Bearer other", "X-Key": "other", "Traceparent": "other",
		"Content-Type": "other",
	}
	if out := s.Send(t.Context(), row); out.Kind != outbox.KindCompleted {
		t.Errorf("got %+v", out)
	}
	remote.Close(t)
	want := http.Header{
		"X-Tenant": {"acme"}, "X-Text": {"Zoë\tZ"}, "Authorization": {"Bearer secret"}, "User-Agent": {"ours"}, "X-Key": {"order-42"},
		"Content-Type": {"text/plain; charset=utf-8"}, "Traceparent": {trace}, "Content-Length": {"2"}, "Connection": {"close"}, "Accept-Encoding": {"identity"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestRowWithAHeaderThatIsNotAllowedIsPutOff(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, says("HTTP/1.1 200 OK\r\n\r\n"))
	s := newHTTP(t, sender.HTTPOptions{URL: remote.URL, RowHeaders: []string{"X-Tenant"}})
	for name, value := range map[string]string{"Cookie": "no", "Host": "elsewhere", "Bad name": "no", "X-Bad": "a\r\nb", "X-Tenants": "a"} {
		row := order("{}")
		row.Headers = map[string]string{name: value, "X-Tenant": "acme\x00"}
		want := unsent(outbox.Retryable(outbox.CodeHeaderNotAllowed, 0))
		if diff := cmp.Diff(want, s.Send(t.Context(), row)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	remote.Close(t)
	if remote.Connections() != 0 {
		t.Errorf("%d connections", remote.Connections())
	}
}

func TestRowThatNoRequestCanCarryIsPermanent(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, says("HTTP/1.1 200 OK\r\n\r\n"))
	s := newHTTP(t, sender.HTTPOptions{URL: remote.URL, MaxPayload: 10, RowHeaders: []string{"X-Tenant"}})
	for name, tc := range map[string]struct {
		change func(*outbox.Row)
		want   string
	}{
		"no key":                      {func(r *outbox.Row) { r.Key = "" }, sender.CodeKeyInvalid},
		"key with a blank":            {func(r *outbox.Row) { r.Key = "order 42" }, sender.CodeKeyInvalid},
		"key that ends in a blank":    {func(r *outbox.Row) { r.Key = "order " }, sender.CodeKeyInvalid},
		"key beyond ASCII":            {func(r *outbox.Row) { r.Key = "ordér" }, sender.CodeKeyInvalid},
		"key that is not UTF-8":       {func(r *outbox.Row) { r.Key = "order\xff" }, sender.CodeKeyInvalid},
		"key with a line break":       {func(r *outbox.Row) { r.Key = "a\r\nX-Admin: 1" }, sender.CodeKeyInvalid},
		"key with a delete":           {func(r *outbox.Row) { r.Key = "a\x7f" }, sender.CodeKeyInvalid},
		"payload too large":           {func(r *outbox.Row) { r.Payload = make([]byte, 11) }, sender.CodePayloadTooLarge},
		"header with a line break":    {func(r *outbox.Row) { r.Headers = map[string]string{"X-Tenant": "a\nX-Admin: 1"} }, sender.CodeHeaderInvalid},
		"header with a zero":          {func(r *outbox.Row) { r.Headers = map[string]string{"x-tenant": "\x00"} }, sender.CodeHeaderInvalid},
		"header in two spellings":     {func(r *outbox.Row) { r.Headers = map[string]string{"x-tenant": "a", "X-TENANT": "b"} }, sender.CodeHeaderInvalid},
		"type with a line break":      {func(r *outbox.Row) { r.ContentType = "text/plain\r\nX-Admin: 1" }, sender.CodeHeaderInvalid},
		"type with a carriage return": {func(r *outbox.Row) { r.ContentType = "text/plain\r" }, sender.CodeHeaderInvalid},
	} {
		row := order("{}")
		tc.change(&row)
		if diff := cmp.Diff(unsent(outbox.Permanent(tc.want)), s.Send(t.Context(), row)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	remote.Close(t)
	if remote.Connections() != 0 {
		t.Errorf("%d connections", remote.Connections())
	}
}

func TestBrokenTraceIsDropped(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"", "x", trace + "-1", strings.ToUpper(trace), trace + "\r\nX-Admin: 1", "\n" + trace, trace + "\n"} {
		remote := egresstest.Serve(t, func(c *egresstest.Conn) {
			if got := c.ReadHead().Header; got["Traceparent"] != nil || got["X-Admin"] != nil {
				t.Errorf("%q: got %v", broken, got)
			}
			c.Say("HTTP/1.1 200 OK\r\n\r\n")
		})
		row := order("{}")
		row.Trace = broken
		if out := newHTTP(t, sender.HTTPOptions{URL: remote.URL}).Send(t.Context(), row); out.Kind != outbox.KindCompleted {
			t.Errorf("%q: got %+v", broken, out)
		}
		remote.Close(t)
	}
}

func TestWrongOptionsAreRefusedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	good := sender.HTTPOptions{URL: "https://example.com"}
	if _, err := sender.NewHTTP(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*sender.HTTPOptions){
		"no URL":             func(o *sender.HTTPOptions) { o.URL = "" },
		"relative URL":       func(o *sender.HTTPOptions) { o.URL = "/path?" + secret },
		"no host":            func(o *sender.HTTPOptions) { o.URL = "https://:443/" + secret },
		"another scheme":     func(o *sender.HTTPOptions) { o.URL = "ftp://example.com/" + secret },
		"unreadable URL":     func(o *sender.HTTPOptions) { o.URL = "https://example.com/%zz" + secret },
		"user and password":  func(o *sender.HTTPOptions) { o.URL = "https://user:" + secret + "@example.com" },
		"method":             func(o *sender.HTTPOptions) { o.Method = "PO ST" },
		"key header":         func(o *sender.HTTPOptions) { o.KeyHeader = "Key:" },
		"header name":        func(o *sender.HTTPOptions) { o.Headers = map[string]string{"a b": secret} },
		"header value":       func(o *sender.HTTPOptions) { o.Headers = map[string]string{"a": secret + "\n"} },
		"row header":         func(o *sender.HTTPOptions) { o.RowHeaders = []string{""} },
		"interim status":     func(o *sender.HTTPOptions) { o.Statuses = map[int]outbox.OutcomeKind{100: outbox.KindCompleted} },
		"status beyond":      func(o *sender.HTTPOptions) { o.Statuses = map[int]outbox.OutcomeKind{600: outbox.KindCompleted} },
		"pointer":            func(o *sender.HTTPOptions) { o.RefPointer = "id" },
		"header and pointer": func(o *sender.HTTPOptions) { o.RefHeader, o.RefPointer = "X", "/id" },
	} {
		o := good
		change(&o)
		if _, err := sender.NewHTTP(o); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
