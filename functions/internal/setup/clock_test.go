package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/clock"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// service serves an account over HTTP, whose clock is ahead of this process's.
func service(t *testing.T, account *localaws.Account, ahead time.Duration) (endpoint string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := account.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body) // the caller may be gone
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestAProcessWhoseClockIsOffClaimsNothing loads a function as its main does, and runs it against a DynamoDB whose clock
// differs by so much.
func TestAProcessWhoseClockIsOffClaimsNothing(t *testing.T) {
	for ahead, trusted := range map[time.Duration]bool{0: true, time.Second: true, -time.Second: true, 8 * time.Second: false, -8 * time.Second: false} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			account := localaws.New(localaws.Options{})
			client := dynamodb.NewFromConfig(account.Config("test"))
			for _, table := range []*dynamodb.CreateTableInput{outboxdb.Table(schema.OutboxTable), routingdb.ControlTable(schema.ControlTable)} {
				if _, err := client.CreateTable(t.Context(), table); err != nil {
					t.Fatal(err)
				}
			}
			remote := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			t.Cleanup(remote.Close)
			config := filepath.Join(t.TempDir(), schema.ConfigFile)
			cfg, err := yamlconfig.Parse("landfall.yaml", fmt.Appendf(nil, "destinations: {charge: {http: %q, deduplicates: never, allow_private: true}}", remote.URL))
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(config, text, 0o600); err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{
				schema.ConfigEnv: config, "AWS_ENDPOINT_URL": service(t, account, ahead), "AWS_REGION": localaws.Region,
				"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
			} {
				t.Setenv(name, value)
			}
			f, err := Load(t.Context(), "dispatch")
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now().Truncate(time.Millisecond)
			row := outbox.Row{
				ID: outbox.ID{Destination: "charge", Key: "order-1"}, Status: outbox.StatusPending, Payload: []byte("{}"),
				Lane: outbox.Lane{Kind: outbox.DueLane, Destination: "charge"}, LaneAt: now, CreatedAt: now,
			}
			if err := outboxdb.New(client, schema.OutboxTable).Put(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			dispatcher, _, err := f.Dispatcher(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var log, metrics bytes.Buffer
			f.Logger = observe.NewLogger(&log, "dispatch", "")
			observer := observe.New(observe.Config{Function: f.name, Logger: f.Logger, Metrics: &metrics})
			dispatcher.Clock = f.Clock(observer)
			report, err := dispatcher.RunOnce(ctx)
			if flushed := observer.Flush(); flushed != nil {
				t.Fatal(flushed)
			}
			said := err != nil && strings.Contains(err.Error(), clock.Code)
			logged := strings.Contains(log.String(), `"message":"the clock is off"`) && strings.Contains(log.String(), clock.Code)
			counted := strings.Contains(metrics.String(), `"ClockOff":1`) && strings.Contains(metrics.String(), `"Function":"dispatch"`)
			if (report.Claimed() == 1) != trusted || said == trusted || logged == trusted || counted == trusted {
				t.Errorf("%d claimed, error %v, log %s, metrics %s", report.Claimed(), err, &log, &metrics)
			}
		})
	}
}
