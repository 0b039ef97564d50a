package landfall

import (
	"cmp"
	"os"
	"time"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Config is what a writer of rows needs to know. [LoadConfig] reads it from the file that the build made
// for the functions, so that both agree.
type Config struct {
	// Destinations by name. A row for any other destination is refused.
	Destinations map[string]Destination
	// Table is the outbox table. Defaults to the value of LANDFALL_OUTBOX_TABLE, else "landfall-outbox".
	Table string
}

// Destination is what a writer of rows needs to know about one destination.
type Destination struct {
	// Headers are the names of the headers that a row may bring along. Defaults to none.
	Headers []string
	// HeadStart is for how long the scheduled sweep leaves a new row to the fast path. Defaults to 0.
	HeadStart time.Duration
	// Kind of the destination. Defaults to "http", whose keys must be visible ASCII.
	Kind string
	// Retired destinations take no new rows. Defaults to false.
	Retired bool
	// Shards is the number of the destination's lanes. Defaults to 1.
	Shards int
}

const kindHTTP = "http"

// LoadConfig reads a resolved configuration, landfall.json. The file names no table: Table is set from the
// environment as [Config] says.
func LoadConfig(path string) (Config, error) {
	resolved, err := config.Load(path)
	if err != nil {
		return Config{}, err
	}
	cfg := Config{Table: table(), Destinations: make(map[string]Destination, len(resolved.Destinations))}
	for name, d := range resolved.Destinations {
		to := Destination{HeadStart: time.Duration(d.HeadStart), Kind: d.Kind(), Retired: d.Retired, Shards: d.Shards}
		if h, ok := d.Target.(*config.HTTP); ok {
			to.Headers = h.RowHeaders
		}
		cfg.Destinations[name] = to
	}
	return cfg, nil
}

func table() string { return cmp.Or(os.Getenv(schema.OutboxTableEnv), schema.OutboxTable) }
