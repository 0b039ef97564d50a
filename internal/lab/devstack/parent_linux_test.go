package devstack

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestFunctionDiesWithAKilledParent(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "DEVSTACK_PARENT_OF="+l.Addr().String(), "DEVSTACK_BINARY="+path)
	parent.Stderr = os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer parent.Wait()
	defer parent.Process.Kill()
	l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	parent.Process.Kill()
	if _, err := io.Copy(io.Discard, conn); os.IsTimeout(err) {
		t.Errorf("the function lives: %v", err)
	}
}
