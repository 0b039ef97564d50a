package outboxdb_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// rowSchema is the public description of a row.
var rowSchema = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile("../../docs/schema/row.schema.json")
})

// fitsSchema reports what is wrong with an item, if anything.
func fitsSchema(i item) error {
	document := map[string]any{}
	for name, v := range i {
		document[name] = dynamoJSON(v)
	}
	return rowSchema().Validate(document)
}

// dynamoJSON is a value as DynamoDB's JSON has it.
func dynamoJSON(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": base64.StdEncoding.EncodeToString(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberM:
		members := map[string]any{}
		for name, e := range v.Value {
			members[name] = dynamoJSON(e)
		}
		return map[string]any{"M": members}
	}
	return map[string]any{fmt.Sprintf("%T", v): nil} // of no use in a row
}

// namesInCode are the attributes that package schema names.
func namesInCode(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../schema/schema.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(block.Doc.Text(), "Attributes of an outbox row") {
			continue
		}
		for _, spec := range block.Specs {
			for _, v := range spec.(*ast.ValueSpec).Values {
				names = append(names, strings.Trim(v.(*ast.BasicLit).Value, `"`))
			}
		}
	}
	return names
}

// namesOnPage are the attributes in the first column of the public page's tables of them: those that a writer may put,
// and those that Landfall writes.
func namesOnPage(t *testing.T) (put, written []string) {
	t.Helper()
	for _, table := range strings.Split(page(t), "\n\n") {
		to := &put
		switch {
		case strings.HasPrefix(table, "| attribute | type | value |"):
		case strings.HasPrefix(table, "| attribute | type | meaning |"):
			to = &written
		default:
			continue
		}
		for _, line := range strings.Split(table, "\n")[2:] {
			first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			for _, name := range strings.Split(first, ", ") {
				*to = append(*to, strings.Trim(name, "`"))
			}
		}
	}
	return put, written
}

// namesInItems are the attributes that the store writes in the life of a row that has them all.
func namesInItems(t *testing.T) []string {
	t.Helper()
	names := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		note := func(id outbox.ID) {
			for name := range b.item(id.PK()) {
				names[name] = true
			}
		}
		now := time.Now()
		row := pending("k", bytes.Repeat([]byte("text that compresses "), 1000))
		row.ContentType, row.Headers, row.CommandID, row.Trace = "text/plain", map[string]string{"X-Tenant": "t1"}, "c", "t"
		row.DeliverBy = now.Add(time.Hour)
		if err := b.Put(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		note(row.ID)
		cut := outbox.Decide(outbox.Policy{}.WithDefaults(), b.claimOf(row.ID, nil), outbox.Unknown("ref", "test.cut"), now)
		cut.Cause = "test.before"
		b.settle(cut)
		note(row.ID)
		stored, err := b.Get(t.Context(), row.ID)
		if err != nil {
			t.Fatal(err)
		}
		b.settle(outbox.Settlement{
			ID: row.ID, From: &stored, Status: outbox.StatusCompleted, CompletedAt: now, ExpiresAt: now.Add(time.Hour), LookedUp: true,
			Resolution: outbox.Resolution{ResolutionID: "order-1", ResolvedBy: "ada", ResolvedAt: now, Reason: "seen", Forced: true},
		})
		note(row.ID)
	})
	return slices.Sorted(maps.Keys(names))
}

func TestAttributesAreTheSameInCodeItemsSchemaAndPage(t *testing.T) {
	t.Parallel()
	want := slices.Sorted(slices.Values(namesInCode(t)))
	put, written := namesOnPage(t)
	for where, names := range map[string][]string{
		"items that the store writes":      namesInItems(t),
		"docs/schema/row.schema.json":      slices.Collect(maps.Keys(rowSchema().Properties)),
		"the tables of docs/row-format.md": slices.Concat(put, written),
		"the tests' list of attributes":    append([]string{schema.PK}, attributes...),
	} {
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(names))); diff != "" {
			t.Errorf("%s (- is in package schema alone, + is there alone):\n%s", where, diff)
		}
	}
	example := slices.Collect(maps.Keys(parseItem(t, read(t, "../../testdata/rows/full.json"))))
	if diff := cmp.Diff(slices.Sorted(slices.Values(put)), slices.Sorted(slices.Values(example))); diff != "" {
		t.Errorf("testdata/rows/full.json (- a writer may put it, + is in the example alone):\n%s", diff)
	}
}

// beyond are mistakes that no JSON Schema can see: bytes, sizes, and what two attributes say together.
var beyond = []string{
	"no gzip", "gzip cut short", "gzip with a wrong checksum", "gzip bomb", "payload of a byte too much",
	"lane of another destination", "dispatching until the year 5138",
	"huge: no room for an outcome", "huge: no room for a claim", "huge and dispatching",
	"huge foreign attribute", "huge reference",
}

// TestBrokenRowsDoNotFitTheSchema, so that a foreign writer finds a mistake before it is stored.
func TestBrokenRowsDoNotFitTheSchema(t *testing.T) {
	t.Parallel()
	at := time.Now()
	if err := fitsSchema(foreign("charge#k", at)); err != nil {
		t.Fatalf("a good row does not fit: %v", err)
	}
	for _, c := range brokenRows {
		row := foreign("charge#k", at)
		c.change(row, at)
		if fits := fitsSchema(row) == nil; fits != slices.Contains(beyond, c.name) {
			t.Errorf("%s: fits: %v", c.name, fits)
		}
	}
}

// TestWhatFitsTheSchemaCanBeRead tries items that are anything.
func TestWhatFitsTheSchemaCanBeRead(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 9))
	fitting := 0
	for range 2000 {
		row := anyItem(random, "charge#k", time.UnixMilli(946684800000))
		if fitsSchema(row) != nil {
			continue
		}
		fitting++
		err := outboxdb.Decode(row).Unreadable
		if err != nil && !strings.Contains(err.Error(), "another destination") && !strings.Contains(err.Error(), "until is more than") &&
			!strings.Contains(err.Error(), "not gzip") {
			t.Fatalf("fits, but: %v\n%v", err, row)
		}
	}
	if fitting < 100 {
		t.Errorf("only %d items fit: that tells little", fitting)
	}
}
