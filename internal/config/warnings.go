package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// Warnings are about destinations and groups that are valid but will not do what their owner seems to expect.
func (cfg *Config) Warnings() (warnings []string) {
	for _, name := range cfg.Names() {
		d := cfg.Destinations[name]
		for _, w := range append(d.warn(), d.Target.warn(d)...) {
			warnings = append(warnings, "destinations."+name+": "+w)
		}
	}
	return append(warnings, cfg.groupWarnings()...)
}

// warn is about the keys of all kinds.
func (d Destination) warn() (warnings []string) {
	p := d.Policy()
	least := Duration(p.SendTimeout + outbox.ClaimMargin + p.LateArrival + outbox.SkewMargin)
	if d.Deduplicates > 0 && Duration(d.Deduplicates) <= least {
		warnings = append(warnings, fmt.Sprintf(
			"deduplicates: %v has the effect of never: it must exceed send_timeout + %v + late_arrival + %v = %v for a repetition to be safe",
			d.Deduplicates, Duration(outbox.ClaimMargin), Duration(outbox.SkewMargin), least))
	}
	if !d.AllowPrivate && d.Lookup != nil && leadsInside(placeholder.ReplaceAllString(d.Lookup.URL, "1")) {
		warnings = append(warnings, "the lookup's URL leads to a private address, so every lookup will be refused; set allow_private: true")
	}
	if d.Lookup != nil {
		warnings = append(warnings, likelyCredentials("lookup.headers", d.Lookup.Headers)...)
	}
	return warnings
}

var likelyCredential = regexp.MustCompile(`(?i)^(proxy-)?authorization$|key|token|secret|password|cookie`)

// likelyCredentials warns of headers whose values everyone can read who can read the file, the stack or its functions.
func likelyCredentials(path string, headers map[string]string) (warnings []string) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if likelyCredential.MatchString(name) {
			warnings = append(warnings, fmt.Sprintf("%s.%s looks like a credential, which stands here in plain text; keep it in Secrets Manager and name it under secret", path, name))
		}
	}
	return warnings
}
