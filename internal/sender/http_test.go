package sender_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/lab/sendertest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/sender"
)

// TestMain cuts the tests off from every name server.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, io.ErrUnexpectedEOF
	}}
	os.Exit(m.Run())
}

func newHTTP(t testing.TB, o sender.HTTPOptions) *sender.HTTP {
	t.Helper()
	o.AllowPrivate = true
	s, err := sender.NewHTTP(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unsent marks the outcome of an attempt of which nothing left.
func unsent(o outbox.Outcome) outbox.Outcome {
	o.Unsent = true
	return o
}

func order(payload string) outbox.Row {
	return outbox.Row{ID: outbox.ID{Destination: "charge", Key: "order-42"}, Payload: []byte(payload)}
}

// says answers each request, and closes.
func says(answer string) func(*egresstest.Conn) {
	return func(c *egresstest.Conn) { c.Read(); c.Say(answer) }
}

func TestHTTPPassesTheSuite(t *testing.T) {
	t.Parallel()
	t.Run("answers by status", func(t *testing.T) {
		passesTheSuite(t, sender.HTTPOptions{Answers: []rule{{Status: []string{"201"}, Pointer: "/ok", Test: egress.Test{OneOf: []string{"true"}}, Then: outbox.KindCompleted}}},
			map[sendertest.Behaviour]string{
				sendertest.Accepts:    "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
				sendertest.Compresses: "HTTP/1.1 202 Accepted\r\nContent-Encoding: gzip\r\n\r\n" + egresstest.Gzip("{}"),
				sendertest.Garbles:    said(201, "", `{"ok": tr`),
				sendertest.Defers:     "HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n\r\n",
				sendertest.Refuses:    "HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n",
				sendertest.Fails:      "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
			})
	})
	// This remote says everything with 200.
	word := func(word string, then outbox.OutcomeKind) rule {
		return rule{Status: []string{"2xx"}, Pointer: "/is", Test: egress.Test{OneOf: []string{word}}, Then: then}
	}
	t.Run("answers by body", func(t *testing.T) {
		passesTheSuite(t, sender.HTTPOptions{Answers: []rule{word("busy", outbox.KindRetryable), word("bad", outbox.KindPermanent), word("lost", outbox.KindUnknown)}},
			map[sendertest.Behaviour]string{
				sendertest.Accepts:    said(200, "", `{"is": "done"}`),
				sendertest.Compresses: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + egresstest.Gzip(`{"is": "done"}`),
				sendertest.Garbles:    said(200, "", `{"is": "done", "is": "bad"}`),
				sendertest.Defers:     said(200, "", `{"is": "busy"}`),
				sendertest.Refuses:    said(200, "", `{"is": "bad"}`),
				sendertest.Fails:      said(200, "", `{"is": "lost"}`),
			})
	})
}

func passesTheSuite(t *testing.T, o sender.HTTPOptions, answers map[sendertest.Behaviour]string) {
	sendertest.Run(t, "http", func(t *testing.T, b sendertest.Behaviour) sendertest.Destination {
		var mu sync.Mutex
		var bodies []string
		received := make(chan struct{}, 100)
		remote := egresstest.Serve(t, func(c *egresstest.Conn) {
			for req := c.ReadHead(); req != nil; req = c.ReadHead() {
				body, _ := io.ReadAll(req.Body)
				mu.Lock()
				bodies = append(bodies, string(body))
				mu.Unlock()
				received <- struct{}{}
				if b == sendertest.Cuts {
					return
				}
				if c.Say(answers[b]); b == sendertest.Compresses {
					return // its answer ends with the connection
				}
			}
		})
		if b == sendertest.Absent {
			remote.Close(t)
		}
		o := o
		o.URL = remote.URL
		return sendertest.Destination{
			Sender:   newHTTP(t, o),
			Received: received,
			Arrived: func() []string {
				if b != sendertest.Absent {
					remote.Close(t)
				}
				return bodies
			},
		}
	})
}

func TestMisbehavingRemoteGetsOneRequestAndItsOutcomeIsWhatIsKnown(t *testing.T) {
	t.Parallel()
	unknown := func(code string) outbox.Outcome { return outbox.Unknown("", "landfall.http."+code) }
	byPointer := func(o *sender.HTTPOptions) { o.RefPointer = "/id" }
	byHeader := func(o *sender.HTTPOptions) { o.RefHeader = "X-Ref" }
	for _, tc := range []struct {
		name    string
		script  func(*egresstest.Conn)
		options func(*sender.HTTPOptions)
		want    outbox.Outcome
	}{
		{name: "cut before it reads", script: func(c *egresstest.Conn) { _, _ = c.Conn.Read(make([]byte, 1)) }, want: unknown("cut")},
		{name: "cut after the request", script: says(""), want: unknown("cut")},
		{name: "reset after the request", script: func(c *egresstest.Conn) { c.Read(); c.Reset() }, want: unknown("cut")},
		{name: "cut in the status line", script: says("HTTP/1.1 20"), want: unknown("cut")},
		{name: "cut after the status line", script: says("HTTP/1.1 200 OK\r\n"), want: unknown("cut")},
		{name: "cut in the head", script: says("HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX-Ref"), want: unknown("cut")},
		{name: "cut in the body", options: byPointer, script: says("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"id\":\"1"), want: outbox.Completed("")},
		{name: "reset after the answer", script: func(c *egresstest.Conn) {
			c.Read()
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			c.Reset()
		}, want: outbox.Completed("")},
		{name: "stall before it reads", script: func(c *egresstest.Conn) { _, _ = c.Conn.Read(make([]byte, 1)); c.GiveUp(); c.Hold() }, want: unknown("no_answer")},
		{name: "stall after the request", script: func(c *egresstest.Conn) { c.Read(); c.GiveUp(); c.Drain() }, want: unknown("no_answer")},
		{name: "trickle past the timeout", script: func(c *egresstest.Conn) {
			c.Read()
			for c.Say("HTTP/1.1 200 OK\r\nX: "); c.Say("x"); {
				c.GiveUp() // trickling on until the client has gone
			}
		}, want: unknown("no_answer")},
		{name: "body that trickles past the timeout", options: byPointer, script: func(c *egresstest.Conn) {
			c.Read()
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"id\":")
			c.GiveUpSoon()
			c.Drain()
		}, want: outbox.Completed("")},
		{name: "interim answers, then cut", script: says("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"), want: unknown("cut")},
		{name: "interim answers, then yes", script: says("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), want: outbox.Completed("")},
		{name: "interim answers, then stall", script: func(c *egresstest.Conn) {
			c.Read()
			c.Say("HTTP/1.1 100 Continue\r\n\r\n")
			c.GiveUp()
			c.Drain()
		}, want: unknown("no_answer")},
		{name: "switch of protocols", script: says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"), want: unknown("bad_answer")},
		{name: "gigantic head", script: says("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 200) + "\r\n"), want: unknown("bad_answer")},
		{name: "gigantic status line", script: says("HTTP/1.1 200 " + strings.Repeat("OK ", 100_000) + "\r\n\r\n"), want: unknown("bad_answer")},
		{name: "gigantic body", options: byPointer, script: says("HTTP/1.1 200 OK\r\n\r\n{\"id\":\"1\",\"x\":\"" + strings.Repeat("x", 3<<20) + "\"}"), want: outbox.Completed("")},
		{name: "no status", script: says("HTTP/1.1 OK\r\n\r\n"), want: unknown("bad_answer")},
		{name: "status without version", script: says("200 OK\r\n\r\n"), want: unknown("bad_answer")},
		{name: "malformed header", script: says("HTTP/1.1 200 OK\r\n: x\r\n\r\n"), want: unknown("bad_answer")},
		{name: "zeros", script: says(strings.Repeat("\x00", 5000)), want: unknown("cut")},
		{name: "HTML without HTTP", script: says("<html>OK</html>\n"), want: unknown("bad_answer")},

		{name: "yes", script: says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), want: outbox.Completed("")},
		{name: "no content", script: says("HTTP/1.1 204 No Content\r\n\r\n"), want: outbox.Completed("")},
		{name: "reference in a header", options: byHeader, script: says("HTTP/1.1 201 Created\r\nx-ref: ch_1 \r\n\r\n"), want: outbox.Completed("ch_1")},
		{name: "reference in the body", options: byPointer, script: says("HTTP/1.1 201 Created\r\n\r\n{\"id\":\"ch_1\"}"), want: outbox.Completed("ch_1")},
		{name: "reference in a compressed body", options: byPointer, script: says("HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\n\r\n" + egresstest.Gzip("{\"id\":\"ch_1\"}")), want: outbox.Completed("ch_1")},
		{name: "reference behind a byte order mark", options: byPointer, script: says("HTTP/1.1 201 Created\r\n\r\n\ufeff{\"id\":\"ch_1\"}"), want: outbox.Completed("ch_1")},
		{name: "broken compression", options: byPointer, script: says("HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00"), want: outbox.Completed("")},
		{name: "reference in an ambiguous body", options: byPointer, script: says("HTTP/1.1 201 Created\r\n\r\n{\"id\":\"ch_1\",\"id\":\"ch_2\"}"), want: outbox.Completed("")},
		{name: "reference that is missing", options: byPointer, script: says("HTTP/1.1 201 Created\r\n\r\n{\"ID\":\"ch_1\"}"), want: outbox.Completed("")},
		{name: "longest reference", options: byHeader, script: says("HTTP/1.1 200 OK\r\nX-Ref: " + strings.Repeat("r", 512) + "\r\n\r\n"), want: outbox.Completed(strings.Repeat("r", 512))},
		{name: "reference too long", options: byHeader, script: says("HTTP/1.1 200 OK\r\nX-Ref: " + strings.Repeat("r", 513) + "\r\n\r\n"), want: outbox.Completed("")},
		{name: "reference that is not UTF-8", options: byHeader, script: says("HTTP/1.1 200 OK\r\nX-Ref: \xff\r\n\r\n"), want: outbox.Completed("")},
		{name: "reference with a control", options: byPointer, script: says("HTTP/1.1 200 OK\r\n\r\n{\"id\":\"a\\nb\"}"), want: outbox.Completed("")},
		{name: "reference of what may have happened", options: byPointer, script: says("HTTP/1.1 500 Oh\r\n\r\n{\"id\":\"ch_1\"}"), want: outbox.Unknown("ch_1", "landfall.http.status_500")},
		{name: "wait in seconds", script: says("HTTP/1.1 429 Later\r\nRetry-After: 7\r\n\r\n"), want: outbox.Retryable("landfall.http.status_429", 7*time.Second)},
		{name: "wait without end", script: says("HTTP/1.1 429 Later\r\nRetry-After: 99999999999999999999\r\n\r\n"), want: outbox.Retryable("landfall.http.status_429", 9223372036*time.Second)},
		{name: "wait of nonsense", script: says("HTTP/1.1 429 Later\r\nRetry-After: -5\r\n\r\n"), want: outbox.Retryable("landfall.http.status_429", 0)},
		{name: "wait where nothing is certain", script: says("HTTP/1.1 503 Later\r\nRetry-After: 7\r\n\r\n"),
			want: outbox.Outcome{Kind: outbox.KindUnknown, Code: "landfall.http.status_503", After: 7 * time.Second}},
		{name: "refused for now", script: says("HTTP/1.1 413 Too Much\r\nRetry-After: 60\r\n\r\n"), want: outbox.Retryable("landfall.http.status_413", time.Minute)},
		{name: "refused for now, known to be for good", options: func(o *sender.HTTPOptions) {
			o.Statuses = map[int]outbox.OutcomeKind{413: outbox.KindPermanent}
		}, script: says("HTTP/1.1 413 Too Much\r\nRetry-After: 60\r\n\r\n"), want: outbox.Permanent("landfall.http.status_413")},
		{name: "moved for now", script: says("HTTP/1.1 307 There\r\nRetry-After: 60\r\nLocation: /there\r\n\r\n"), want: outbox.Permanent("landfall.http.status_307")},
		{name: "refused for a time that cannot be read", script: says("HTTP/1.1 413 Too Much\r\nRetry-After: soon\r\n\r\n"), want: outbox.Retryable("landfall.http.status_413", 0)},
		{name: "timeout after the whole request", script: says("HTTP/1.1 408 Timeout\r\nRetry-After: 7\r\n\r\n"),
			want: outbox.Outcome{Kind: outbox.KindUnknown, Code: "landfall.http.status_408", After: 7 * time.Second}},
		{name: "conflict", script: says("HTTP/1.1 409 Conflict\r\n\r\n"), want: outbox.Permanent("landfall.http.status_409")},
		{name: "conflict where it deduplicates", options: func(o *sender.HTTPOptions) { o.Deduplicates = true },
			script: says("HTTP/1.1 409 Conflict\r\n\r\n"), want: unknown("status_409")},
		{name: "a status with another meaning", options: func(o *sender.HTTPOptions) {
			o.Deduplicates, o.RefHeader = true, "X-Ref"
			o.Statuses = map[int]outbox.OutcomeKind{409: outbox.KindCompleted}
		}, script: says("HTTP/1.1 409 Conflict\r\nX-Ref: first\r\n\r\n"), want: outbox.Completed("first")},
		{name: "a yes with another meaning", options: func(o *sender.HTTPOptions) {
			o.Statuses = map[int]outbox.OutcomeKind{202: outbox.KindUnknown}
		}, script: says("HTTP/1.1 202 Perhaps\r\n\r\n"), want: unknown("status_202")},
		{name: "unavailable, known not to have worked", options: func(o *sender.HTTPOptions) {
			o.Statuses = map[int]outbox.OutcomeKind{503: outbox.KindRetryable}
		}, script: says("HTTP/1.1 503 Later\r\nRetry-After: 7\r\n\r\n"), want: outbox.Retryable("landfall.http.status_503", 7*time.Second)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, tc.script)
			o := sender.HTTPOptions{URL: remote.URL}
			if tc.options != nil {
				tc.options(&o)
			}
			got := newHTTP(t, o).Send(remote.Context(), order(`{"amount":1}`))
			remote.Close(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if remote.Connections() != 1 || remote.Requests() > 1 {
				t.Errorf("%d connections, %d requests", remote.Connections(), remote.Requests())
			}
		})
	}
}

// An HTTP client that keeps connections sends a request again, behind the sender's back, if one dies under a request
// that it takes for safe to repeat, as any with an Idempotency-Key.
func TestConnectionThatDiesUnderASecondSendGetsOneRequest(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	remote := egresstest.Serve(t, func(c *egresstest.Conn) {
		for c.Read() {
			if requests.Add(1) == 2 {
				c.Reset()
				return
			}
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	s := newHTTP(t, sender.HTTPOptions{URL: remote.URL})
	got := []outbox.Outcome{s.Send(t.Context(), order("{}")), s.Send(t.Context(), order(""))}
	remote.Close(t)
	if diff := cmp.Diff([]outbox.Outcome{outbox.Completed(""), outbox.Unknown("", "landfall.http.cut")}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if remote.Requests() != 2 || remote.Connections() != 2 {
		t.Errorf("%d requests, %d connections", remote.Requests(), remote.Connections())
	}
}

func TestSendEndsWithItsTimeout(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, (*egresstest.Conn).Drain)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	got := newHTTP(t, sender.HTTPOptions{URL: remote.URL}).Send(ctx, order("{}"))
	if diff := cmp.Diff(outbox.Unknown("", "landfall.http.no_answer"), got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestPayloadThatIsReadInPartIsUnknownAtBest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, answer string
		want         outbox.Outcome
	}{
		{"yes", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", outbox.Unknown("", sender.CodeEarlyAnswer)},
		{"no", "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n", outbox.Permanent("landfall.http.status_413")},
		{"later", "HTTP/1.1 429 Later\r\nContent-Length: 0\r\n\r\n", outbox.Retryable("landfall.http.status_429", 0)},
		{"timeout", "HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n", outbox.Retryable("landfall.http.status_408", 0)},
		{"nothing", "", outbox.Unknown("", "landfall.http.cut")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, func(c *egresstest.Conn) {
				c.ReadHead()
				c.Say(tc.answer)
				c.Reset()
			})
			got := newHTTP(t, sender.HTTPOptions{URL: remote.URL}).Send(t.Context(), order(strings.Repeat("x", egresstest.TooMuch)))
			remote.Close(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if remote.Requests() != 1 {
				t.Errorf("%d requests", remote.Requests())
			}
		})
	}
}

func TestRedirectEndsTheAttempt(t *testing.T) {
	t.Parallel()
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			elsewhere := egresstest.Serve(t, says("HTTP/1.1 200 OK\r\n\r\n"))
			here := egresstest.Serve(t, says(fmt.Sprintf("HTTP/1.1 %d Go\r\nLocation: %s/there\r\nContent-Length: 0\r\n\r\n", status, elsewhere.URL)))
			o := sender.HTTPOptions{URL: here.URL, Headers: map[string]string{"Authorization": "Bearer secret"}}
			got := newHTTP(t, o).Send(t.Context(), order("{}"))
			want := outbox.Permanent(fmt.Sprintf("landfall.http.status_%d", status))
			if status == 303 {
				want = outbox.Unknown("", want.Code)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			here.Close(t)
			elsewhere.Close(t)
			if here.Requests() != 1 || elsewhere.Connections() != 0 {
				t.Errorf("%d requests, %d connections to where it redirects", here.Requests(), elsewhere.Connections())
			}
		})
	}
}

func TestUnreachableRemoteIsSentNothing(t *testing.T) {
	t.Parallel()
	certificate := egresstest.Serve(t, func(c *egresstest.Conn) { c.Drain() })
	closed := egresstest.Serve(t, says(""))
	closed.Close(t)
	retryable := func(code string) outbox.Outcome { return unsent(outbox.Retryable("landfall.http."+code, 0)) }
	refused := unsent(outbox.Permanent("landfall.http.address_refused"))
	for _, tc := range []struct {
		name, url string
		want      outbox.Outcome
	}{
		{"nothing listens", closed.URL, retryable("connect_refused")},
		{"no name server", "http://nowhere.test", retryable("dns")},
		{"no TLS", "https" + closed.URL[len("http"):], retryable("connect_refused")},
		{"metadata", "http://169.254.169.254/latest", refused},
	} {
		if diff := cmp.Diff(tc.want, newHTTP(t, sender.HTTPOptions{URL: tc.url}).Send(t.Context(), order("{}"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	strict, err := sender.NewHTTP(sender.HTTPOptions{URL: certificate.URL})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(refused, strict.Send(t.Context(), order("{}"))); diff != "" {
		t.Errorf("loopback (-want +got):\n%s", diff)
	}
	certificate.Close(t)
	if certificate.Connections() != 0 {
		t.Error("loopback was connected to")
	}
}

func TestRequestIsExactToTheByte(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	big := make([]byte, 390<<10)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(big)
	for _, payload := range [][]byte{nil, {}, []byte("{}"), all, big} {
		for _, method := range []string{"", "PUT", "PATCH"} {
			remote := egresstest.Serve(t, says("HTTP/1.1 200 OK\r\n\r\n"))
			got := newHTTP(t, sender.HTTPOptions{URL: remote.URL + "/a%2Fb/?q=1&r=%20", Method: method}).Send(t.Context(), order(string(payload)))
			remote.Close(t)
			if diff := cmp.Diff(outbox.Completed(""), got); diff != "" {
				t.Errorf("%d bytes (-want +got):\n%s", len(payload), diff)
			}
			if method == "" {
				method = "POST"
			}
			want := fmt.Appendf(nil, "%s /a%%2Fb/?q=1&r=%%20 HTTP/1.1\r\nHost: %s\r\n"+
				"User-Agent: Landfall (+https://github.com/landfall-dev/landfall)\r\nConnection: close\r\nContent-Length: %d\r\n"+
				"Accept-Encoding: identity\r\nContent-Type: application/json\r\nIdempotency-Key: order-42\r\n\r\n%s", method, remote.URL[len("http://"):], len(payload), payload)
			if !bytes.Equal(remote.Raw(), want) {
				t.Errorf("%d bytes: got %.300q, want %.300q", len(payload), remote.Raw(), want)
			}
		}
	}
}
