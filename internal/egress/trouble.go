package egress

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// Trouble says in one word why there is no answer, or none that a rule can be held against: one of the words below, or of [secrets.Trouble], if the secret for the
// request was missing. The words are stable, because they are part of the codes on rows.
type Trouble string

// Before anything of the request left.
const (
	// Unsendable: HTTP cannot carry the request.
	Unsendable Trouble = "unsendable"
	// DNS: the name of the host could not be resolved.
	DNS Trouble = "dns"
	// AddressRefused: the guard refuses all addresses of the host.
	AddressRefused Trouble = "address_refused"
	// ConnectRefused: nothing listens there.
	ConnectRefused Trouble = "connect_refused"
	// ConnectTimeout: the time was up before the connection was made.
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
	// BadAnswer: the bytes that came are not an answer of HTTP/1, or its head is longer than MaxHead.
	BadAnswer Trouble = "bad_answer"
)

// With an answer that a rule cannot be held against.
const (
	// BodyIncomplete: a rule needs the body, which was cut, is longer than MaxBody, or cannot be decoded.
	BodyIncomplete Trouble = "body_incomplete"
	// BodyInvalid: a rule needs the body, which is not one JSON document in UTF-8, or is nested too deeply.
	BodyInvalid Trouble = "body_invalid"
	// BodyAmbiguous: a rule needs the body, in which an object has the same name twice. JSON readers disagree about which
	// value counts, so nothing in such a body is believed.
	BodyAmbiguous Trouble = "body_ambiguous"
	// ValueInvalid: a rule's pointer leads through or to a value of another type than the rule expects.
	ValueInvalid Trouble = "value_invalid"
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

// answerTrouble distinguishes a connection that ended from one that brought nonsense.
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
