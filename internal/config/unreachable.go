package config

import (
	"fmt"
	"net/netip"
	"net/url"
)

// Unreachable reports the targets that functions in AWS cannot reach, by their addresses alone: loopback, link-local and,
// without a VPC, private ones. Retired destinations do not count.
func (c *Config) Unreachable(vpc bool) (problems []Problem) {
	check := func(path, text string) {
		u, err := url.Parse(placeholder.ReplaceAllString(text, "1"))
		if err != nil || !leadsInside(u.String()) {
			return
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.Unmap().IsPrivate() {
			if !vpc {
				problems = append(problems, Problem{Path: path, Message: fmt.Sprintf(
					"%s is a private address, which functions in AWS reach only from a VPC; write the remote's public name, or put the functions into the VPC", u.Hostname())})
			}
			return
		}
		problems = append(problems, Problem{Path: path, Message: fmt.Sprintf(
			"%s is the machine itself, where functions in AWS have no remote; write the remote's name before you deploy", u.Hostname())})
	}
	for _, name := range c.Names() {
		path, d := "destinations."+name, c.Destinations[name]
		if d.Retired {
			continue
		}
		if h, ok := d.Target.(*HTTP); ok {
			check(path+".http", h.URL)
		}
		if d.Lookup != nil && d.Lookup.URL != "" {
			check(path+".lookup.http", d.Lookup.URL)
		}
	}
	return problems
}
