package payloads_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/lab/payloads"
)

func TestEveryFileIsLoadedUnderAHeaderSafeName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, err := payloads.Load(folder); err == nil {
		t.Error("Load accepts an empty folder")
	}
	if _, err := payloads.Load(filepath.Join(folder, "missing")); err == nil {
		t.Error("Load accepts a missing folder")
	}
	if err := os.MkdirAll(filepath.Join(folder, "deep", "er"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"z": "", "deep/er/größe 1.json": "{}", "deep/a": "\x00\xff"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := payloads.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]payloads.Payload{
		{Name: "deep/a", Body: []byte("\x00\xff")}, {Name: "deep/er/gr%C3%B6%C3%9Fe%201.json", Body: []byte("{}")}, {Name: "z", Body: []byte{}},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
