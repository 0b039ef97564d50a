package config

import (
	"fmt"

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
	return warnings
}
