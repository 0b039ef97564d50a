package config

import (
	"maps"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// later are keys that the format reserves for versions to come.
var later = map[string]bool{
	"stages": true, // top level
	// kinds of destinations
	"sns": true, "eventbridge": true, "lambda": true,
	"auth": true, "signing": true, "cloudevents": true,
}

// ParseYAML reads a landfall.yaml and fills in the defaults. name is what errors call the file; an error is an
// [*Error] and names everything that is wrong.
func ParseYAML(name string, src []byte) (*Config, error) { return parseYAML(name, src, nil) }

func parseYAML(name string, src []byte, checks []Check) (*Config, error) {
	d := newDocument(src)
	root := d.parse(src)
	if root == nil {
		return nil, d.err(name)
	}
	cfg := d.config(root)
	d.locate(cfg.check(checks...))
	if len(d.problems) > 0 {
		return nil, d.err(name)
	}
	return cfg, nil
}

// config reads what is written over the defaults. A value that cannot be read leaves the default, so that the
// checks that follow do not complain about it a second time.
func (d *document) config(root ast.Node) *Config {
	cfg, settings := builtin(), builtinSettings()
	var destinations ast.Node
	d.mapping("", root, map[string]field{
		"concurrency": integer(&cfg.Concurrency),
		"defaults": func(d *document, path string, n ast.Node) {
			d.mapping(path, n, settings.fields())
			var c checker
			c.settings(path, settings)
			d.locate(c.problems)
		},
		"destinations":  func(_ *document, _ string, n ast.Node) { destinations = n },
		"groups":        readGroups(&cfg.Groups),
		"log_successes": number(&cfg.LogSuccesses),
		"parallelism":   integer(&cfg.Parallelism),
	})
	if destinations == nil {
		return &cfg
	}
	d.named("destinations", destinations, func(name, path string, n ast.Node) {
		cfg.Destinations[name] = d.destination(path, n, settings)
	})
	return &cfg
}

func (d *document) destination(path string, n ast.Node, settings Settings) Destination {
	kind, later := kindOf(n)
	dest := Destination{Settings: settings, Deduplicates: unset}
	own := dest.become(kind, d.keys["defaults.late_arrival"] != nil)
	fields := dest.Settings.fields()
	maps.Copy(fields, own)
	maps.Copy(fields, map[string]field{
		"allow_private": boolean(&dest.AllowPrivate),
		"deduplicates": func(d *document, path string, n ast.Node) {
			dest.Deduplicates = 0 // whatever it is, it is not missing
			scalar("never, always, or how long, such as 24h", parseWindow, &dest.Deduplicates)(d, path, n)
		},
		"lookup":  readLookup(&dest.Lookup),
		"retired": boolean(&dest.Retired),
	})
	d.mappingBut(path, n, fields, foreign(kind))
	if later || d.keys[path+"."+kind] != nil {
		dest.unreadTarget(kind)
	}
	if dest.HTTP != nil {
		dest.Lookup.inherit(dest.HTTP)
	}
	return dest
}

func (s *Settings) fields() map[string]field {
	return map[string]field{
		"attempts": integer(&s.Attempts),
		"backoff": func(d *document, path string, n ast.Node) {
			d.mapping(path, n, map[string]field{
				"factor": number(&s.Backoff.Factor),
				"first":  duration(&s.Backoff.First, "s"),
				"max":    duration(&s.Backoff.Max, "s"),
			})
		},
		"concurrency":  integer(&s.Concurrency),
		"head_start":   duration(&s.HeadStart, "s"),
		"late_arrival": duration(&s.LateArrival, "m"),
		"retention":    duration(&s.Retention, "d"),
		"send_timeout": duration(&s.SendTimeout, "s"),
		"shards":       integer(&s.Shards),
	}
}

func (h *HTTP) fields() map[string]field {
	return map[string]field{
		"headers":     headers(&h.Headers),
		"http":        text(&h.URL),
		"key_header":  text(&h.KeyHeader),
		"method":      text(&h.Method),
		"remote_ref":  h.readRemoteRef,
		"row_headers": h.readRowHeaders,
		"secret":      readSecret(&h.Secret),
		"statuses":    h.readStatuses,
	}
}

func headers(to *map[string]string) field {
	return func(d *document, path string, n ast.Node) {
		values := map[string]string{}
		*to = values
		if isScalar(n) {
			d.mask(n)
			d.failf(n, path, "want names and values, such as {X-Tenant: acme}")
			return
		}
		d.entries(path, n, func(key ast.MapKeyNode, name, path string, n ast.Node) {
			d.mask(n)
			canonical := textproto.CanonicalMIMEHeaderKey(name)
			if _, twice := values[canonical]; twice {
				d.failf(key, path, "is there twice: the case of a header's name means nothing")
			}
			var value string
			text(&value)(d, path, n)
			values[canonical] = value
			d.move(path, "."+plain(name), "."+plain(canonical))
		})
	}
}

func (h *HTTP) readRemoteRef(d *document, path string, n ast.Node) {
	h.RemoteRef = &RemoteRef{}
	d.mapping(path, n, map[string]field{
		"header":  text(&h.RemoteRef.Header),
		"pointer": text(&h.RemoteRef.Pointer),
	})
}

func (h *HTTP) readRowHeaders(d *document, path string, n ast.Node) {
	texts(&h.RowHeaders, "names, such as [X-Tenant]")(d, path, n)
	for i, name := range h.RowHeaders {
		h.RowHeaders[i] = textproto.CanonicalMIMEHeaderKey(name)
	}
}

func (h *HTTP) readStatuses(d *document, path string, n ast.Node) {
	h.Statuses = map[int]Outcome{}
	d.entries(path, n, func(key ast.MapKeyNode, name, path string, n ast.Node) {
		status, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(status) != name {
			d.failf(key, path, "is no status: write its number, such as 409")
			return
		}
		var o Outcome
		scalar("completed, retryable, permanent or unknown", parseOutcome, &o)(d, path, n)
		h.Statuses[status] = o
	})
}

// inherited is where a value of a destination that is not written there is written, if anywhere.
func inherited(path string) (string, bool) {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 3 || parts[0] != "destinations" {
		return "", false
	}
	return "defaults." + parts[2], true
}
