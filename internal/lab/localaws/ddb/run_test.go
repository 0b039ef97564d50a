package ddb

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// do runs an operation, which is committed at once.
func do(t *testing.T, db *DB, name, body string) wire.Outcome {
	t.Helper()
	op, err := db.Decode(&wire.Request{Operation: name, Body: []byte(body)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, body, err)
	}
	return op.Run(time.Unix(1e9, 0), faults.Fault{})
}

func newTable(t *testing.T) *DB {
	t.Helper()
	db := New(Options{})
	do(t, db, "CreateTable", `{"TableName":"one","BillingMode":"PAY_PER_REQUEST",
		"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}]}`)
	do(t, db, "PutItem", `{"TableName":"one","Item":{"k":{"S":"a"},"v":{"S":"long"}}}`)
	return db
}

func TestRefusedReadsAreFree(t *testing.T) {
	t.Parallel()
	const good, bad = `{"k":{"S":"a"}}`, `{"k":{"N":"1"}}`
	for name, body := range map[string]string{
		"BatchGetItem":     `{"RequestItems":{"one":{"Keys":[` + good + `,` + bad + `]}}}`,
		"TransactGetItems": `{"TransactItems":[{"Get":{"TableName":"one","Key":` + good + `}},{"Get":{"TableName":"one","Key":` + bad + `}}]}`,
	} {
		if out := do(t, newTable(t), name, body); out.Err == nil || len(out.Costs) > 0 {
			t.Errorf("%s: %v, and consumed %v", name, out.Err, out.Costs)
		}
	}
}

func TestSizeOfATableIsThatOfItsPresentItems(t *testing.T) {
	t.Parallel()
	db := newTable(t)
	do(t, db, "PutItem", `{"TableName":"one","Item":{"k":{"S":"a"},"v":{"S":""}}}`)
	answer, err := json.Marshal(do(t, db, "DescribeTable", `{"TableName":"one"}`).Answer)
	if err != nil || !strings.Contains(string(answer), `"TableSizeBytes":3,`) {
		t.Errorf("an item of 3 bytes replaced one of 7: %s, %v", answer, err)
	}
}
