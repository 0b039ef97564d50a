package localaws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server serves a handler on a loopback address.
type Server struct {
	URL string // http://127.0.0.1:port

	http  *http.Server
	ended chan error
}

// Listen serves h on a loopback address such as "127.0.0.1:0". Any other address is refused: what runs on a desk is
// not for the network.
func Listen(address string, h http.Handler) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen: %q is not a loopback address; use 127.0.0.1:<port>", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if addr, ok := l.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() { // what localhost is, the machine decides
		return nil, errors.Join(fmt.Errorf("listen: %s is not a loopback address", l.Addr()), l.Close())
	}
	s := &Server{
		URL:   "http://" + l.Addr().String(),
		http:  &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second},
		ended: make(chan error, 1),
	}
	go func() { s.ended <- s.http.Serve(l) }()
	return s, nil
}

// Close stops listening, lets requests under way finish for up to a second, then cuts them.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if served := <-s.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
