package egress_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
)

// names has the IPv4 addresses of *.test, for the resolver that TestMain puts in; a name that is not here does not exist.
var names = map[string][]string{
	"inside.test":   {"127.0.0.1"},
	"metadata.test": {"169.254.169.254"},
	"mixed.test":    {"169.254.169.254", "127.0.0.1", "192.0.2.1"},
	"nothing.test":  {"0.0.0.0"},
}

// turning.test has another address at every question: first this one, then 127.0.0.1.
const turningFirst = "203.0.113.7"

var turning sync.Map

func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serveNames(server)
		return client, nil
	}}
	os.Exit(m.Run())
}

// serveNames answers questions in the form of DNS over TCP (RFC 1035, section 4.2.2).
func serveNames(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		reply := answerQuestion(question)
		_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	}
}

func answerQuestion(q []byte) []byte {
	end, labels := 12, []string{}
	for q[end] != 0 {
		n := int(q[end])
		labels = append(labels, string(q[end+1:end+1+n]))
		end += 1 + n
	}
	kind := binary.BigEndian.Uint16(q[end+1:])
	name := strings.Join(labels, ".")
	addresses, known := names[name]
	if name == "turning.test" && kind == 1 {
		if _, again := turning.LoadOrStore(name, true); again {
			addresses = []string{"127.0.0.1"}
		} else {
			addresses = []string{turningFirst}
		}
	}
	flags := uint16(0x8180)
	if !known && name != "turning.test" {
		flags |= 3 // no such name
	}
	if kind != 1 {
		addresses = nil
	}
	reply := append([]byte{}, q[:2]...)
	for _, n := range []uint16{flags, 1, uint16(len(addresses)), 0, 0} {
		reply = binary.BigEndian.AppendUint16(reply, n)
	}
	reply = append(reply, q[12:end+5]...)
	for _, a := range addresses {
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, net.ParseIP(a).To4()...)
	}
	return reply
}

func TestNameOfAnAddressOutOfBoundsIsRefused(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, yes)
	port := remote.URL[strings.LastIndex(remote.URL, ":"):]
	strict, lax := egress.New(egress.Options{}), private()
	refused := egress.Exchange{Trouble: egress.AddressRefused}
	for _, tc := range []struct {
		name   string
		client *egress.Client
		host   string
	}{
		{"loopback by name", strict, "inside.test"},
		{"loopback by address", strict, "127.0.0.1"},
		{"loopback as a mapped address", strict, "[::ffff:127.0.0.1]"},
		{"localhost", strict, "localhost"},
		{"metadata", strict, "metadata.test"},
		{"metadata with private addresses allowed", lax, "metadata.test"},
		{"unspecified with private addresses allowed", lax, "nothing.test"},
		{"unspecified IPv6 with private addresses allowed", lax, "[::]"},
		{"several, none good", strict, "mixed.test"},
		{"name that turns", strict, "turning.test"},
		{"name that has turned", strict, "turning.test"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(refused, tc.client.Do(t.Context(), post(t, "http://"+tc.host+port, 1))); diff != "" {
				t.Error(diff)
			}
		})
	}
	remote.Close(t)
	if n := remote.Connections(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestAllowedAddressIsReachedBehindARefusedOne(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, yes)
	port := remote.URL[strings.LastIndex(remote.URL, ":"):]
	x := private().Do(t.Context(), post(t, "http://mixed.test"+port, 1))
	if x.Answer == nil || x.Answer.Status != 200 {
		t.Errorf("got %+v", x)
	}
	remote.Close(t)
	// An allowed address where nothing listens is not a refusal by policy.
	if x := private().Do(t.Context(), post(t, "http://mixed.test"+port, 1)); x.Trouble == egress.AddressRefused || x.Began {
		t.Errorf("got %+v", x)
	}
}
