package egress

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// Trouble says in one word why there is no answer. The words are stable: codes of rows are made of them.
type Trouble string

// Before anything of the request left.
const (
	// Unsendable: the request is none that HTTP can carry.
	Unsendable Trouble = "unsendable"
	// DNS: the name of the host could not be resolved.
	DNS Trouble = "dns"
	// AddressRefused: the host has only addresses that the guard keeps out of bounds.
	AddressRefused Trouble = "address_refused"
	// ConnectRefused: nobody listens.
	ConnectRefused Trouble = "connect_refused"
	// ConnectTimeout: the time was up before the connection stood.
	ConnectTimeout Trouble = "connect_timeout"
	// Connect: no connection, for another reason.
	Connect Trouble = "connect"
	// TLSCertificate: the certificate is not trusted, not valid now, or not for this host.
	TLSCertificate Trouble = "tls_certificate"
	// TLS: the handshake failed for another reason.
	TLS Trouble = "tls"
)

// After the request was given to a connection.
const (
	// NoAnswer: the time was up before the head of a final answer was complete.
	NoAnswer Trouble = "no_answer"
	// Cut: the connection ended before the head of a final answer was complete.
	Cut Trouble = "cut"
	// BadAnswer: what came is no answer of HTTP/1, or its head is longer than MaxHead.
	BadAnswer Trouble = "bad_answer"
)

func dialTrouble(err error) Trouble {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return DNS
	case errors.Is(err, syscall.ECONNREFUSED):
		return ConnectRefused
	default:
		return Connect
	}
}

func handshakeTrouble(err error) Trouble {
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return TLSCertificate
	}
	return TLS
}

// answerTrouble tells a connection that ended from one that brought nonsense.
func answerTrouble(over, ended bool) Trouble {
	switch {
	case over:
		return NoAnswer
	case ended:
		return Cut
	default:
		return BadAnswer
	}
}
