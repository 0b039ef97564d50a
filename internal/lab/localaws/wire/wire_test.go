package wire

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestOfMoreThan16MBIsRefused(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{16 << 20: 0, 16<<20 + 1: http.StatusRequestEntityTooLarge} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
		_, err := Read(r)
		e := &Error{}
		if errors.As(err, &e); e.Status != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
