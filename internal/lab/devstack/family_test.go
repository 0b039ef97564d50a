package devstack

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"
)

// A child that a function forks holds a connection for as long as it lives.
func listenForChild(t *testing.T) (addr string, accept func() net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), func() net.Conn {
		l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(patience))
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil { // its id: it is up
			t.Fatal(err)
		}
		return conn
	}
}

// awaitDeath returns when the other end of a connection is gone.
func awaitDeath(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the process lives: %v", err)
	}
}

func TestForkedChildDiesWithItsFunction(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *bundle){
		"the stack stops": func(b *bundle) { b.Stop(context.Background()) },
		"it exits":        func(b *bundle) { b.invoke(event{Do: "exit"}) },
		"it hangs":        func(b *bundle) { b.invoke(event{Do: "hang"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, Function{Timeout: 2 * time.Second})
			addr, accept := listenForChild(t)
			b.ask(event{Do: "fork", Addr: addr})
			conn := accept()
			end(b)
			awaitDeath(t, conn)
		})
	}
}

func TestFunctionEndsThoughAChildRanAway(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{})
	addr, accept := listenForChild(t)
	b.ask(event{Do: "fork-away", Addr: addr})
	conn := accept() // it holds the log open, too
	b.Stop(context.Background())
	if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("the child did not run away, so this shows nothing: %v", err)
	}
}

// beParent is another program that runs a stack, for a test that kills it: it keeps one function
// busy with holding a connection to addr.
func beParent(addr string) {
	path := os.Getenv("DEVSTACK_BINARY")
	s, err := Start(Config{Functions: []Function{{Name: "fn", Path: path, Timeout: time.Minute}}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Invoke(context.Background(), "fn", fmt.Appendf(nil, `{"url":"http://%s"}`, addr))
	os.Exit(1) // it was to be killed before
}
