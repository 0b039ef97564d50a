package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// errForbidden is why a connection to an address is not made.
var errForbidden = errors.New("address is out of bounds")

// The addresses that a destination with AllowPrivate may reach besides public ones.
var (
	privateV4 = []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"), // RFC 6598, which VPCs use as well
		netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("192.168.0.0/16"),
	}
	privateV6 = []netip.Prefix{
		netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("fc00::/7"),
	}
)

// awsLocal is where EC2 keeps its metadata, resolver and clock for IPv6. It lies within fc00::/7, but it holds no remote,
// and its metadata contains the role's credentials.
var awsLocal = netip.MustParsePrefix("fd00:ec2::/32")

// guard decides, after names were resolved, which addresses are connected to: public ones, and private ones if allowed. It
// always refuses link-local addresses, among them the metadata of EC2 and ECS; unspecified, multicast and reserved
// addresses; and addresses that embed an IPv4 address (NAT64, 6to4, Teredo). It allows any port, because the operator
// chose the URL.
type guard struct{ guardian *ssrf.Guardian }

func newGuard(allowPrivate bool) guard {
	options := []ssrf.Option{ssrf.WithAnyPort()}
	if allowPrivate {
		options = append(options, ssrf.WithAllowedV4Prefixes(privateV4...), ssrf.WithAllowedV6Prefixes(privateV6...))
	}
	return guard{ssrf.New(options...)}
}

// check has the form of [net.Dialer.Control].
func (g guard) check(network, address string, conn syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", errForbidden, err)
	}
	ip := to.Addr().Unmap() // ::ffff:127.0.0.1 is 127.0.0.1
	if awsLocal.Contains(ip) {
		return errForbidden
	}
	return g.guardian.Safe(network, netip.AddrPortFrom(ip, to.Port()).String(), conn)
}
