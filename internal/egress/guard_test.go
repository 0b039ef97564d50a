package egress

import (
	"errors"
	"net/netip"
	"testing"
)

func TestAddressOutOfBoundsIsRefused(t *testing.T) {
	t.Parallel()
	const (
		never   = 0
		private = 1
		always  = 2
	)
	for address, when := range map[string]int{
		"8.8.8.8": always, "52.94.236.248": always, "2600:1f18::1": always, "2a00:1450:4001::64": always, "::ffff:8.8.8.8": always,

		"127.0.0.1": private, "127.255.255.254": private, "::1": private, "::ffff:127.0.0.1": private,
		"10.0.0.1": private, "172.16.0.1": private, "172.31.255.255": private, "192.168.1.1": private, "::ffff:10.0.0.1": private,
		"100.64.0.1": private, "100.127.255.255": private, "fc00::1": private, "fd12:3456::1": private,

		"169.254.169.254": never, "169.254.170.2": never, "169.254.0.1": never, "::ffff:169.254.169.254": never, "fe80::1": never, "fe80::1%lo": never,
		"fd00:ec2::254": never, "fd00:ec2::253": never, "fd00:ec2::23": never,
		"0.0.0.0": never, "0.1.2.3": never, "::": never, "::ffff:0.0.0.0": never,
		"224.0.0.1": never, "239.255.255.250": never, "ff02::1": never, "255.255.255.255": never, "240.0.0.1": never,
		"64:ff9b::7f00:1": never, "64:ff9b::a9fe:a9fe": never, "64:ff9b::808:808": never, "64:ff9b:1::a00:1": never,
		"2002:7f00:1::": never, "2002:a00:1::1": never, "2001::1": never, "::127.0.0.1": never, "fec0::1": never,
		"192.0.2.1": never, "198.18.0.1": never, "198.51.100.1": never, "203.0.113.1": never, "2001:db8::1": never, "100::1": never,
	} {
		ip := netip.MustParseAddr(address)
		for _, port := range []uint16{1, 22, 80, 443, 9001, 65535} {
			network := "tcp4"
			if ip.Is6() {
				network = "tcp6"
			}
			to := netip.AddrPortFrom(ip, port).String()
			if err := newGuard(false).check(network, to, nil); (err == nil) != (when == always) {
				t.Errorf("%s: %v", to, err)
			}
			if err := newGuard(true).check(network, to, nil); (err == nil) != (when >= private) {
				t.Errorf("%s with private addresses allowed: %v", to, err)
			}
		}
	}
	for _, bad := range []string{"", "localhost:80", "127.1:80", "8.8.8.8", "[::1]"} {
		if err := newGuard(true).check("tcp4", bad, nil); !errors.Is(err, errForbidden) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if newGuard(true).check("udp4", "8.8.8.8:53", nil) == nil {
		t.Error("not only TCP")
	}
}
