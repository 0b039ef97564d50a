package outboxdb_test

import (
	"encoding/base64"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/santhosh-tekuri/jsonschema/v6"

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

// TestNoAttributeIsMissingInTheSchema compares it with the names that the code has.
func TestNoAttributeIsMissingInTheSchema(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../schema/schema.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var code []string
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(block.Doc.Text(), "Attributes of an outbox row") {
			continue
		}
		for _, spec := range block.Specs {
			for _, v := range spec.(*ast.ValueSpec).Values {
				code = append(code, strings.Trim(v.(*ast.BasicLit).Value, `"`))
			}
		}
	}
	var public []string
	for name := range rowSchema().Properties {
		public = append(public, name)
	}
	tested := append([]string{schema.PK}, attributes...)
	for _, names := range [][]string{code, public, tested} {
		slices.Sort(names)
	}
	if !slices.Equal(code, public) || !slices.Equal(code, tested) {
		t.Errorf("attributes in the code %v,\nin the schema %v,\nin these tests %v", code, public, tested)
	}
}

// beyond are mistakes that no JSON Schema can see: bytes, sizes, and what two attributes say together.
var beyond = []string{
	"no gzip", "gzip cut short", "gzip with a wrong checksum", "gzip bomb", "payload of a byte too much",
	"lane of another destination", "dispatching until the year 5138",
	"huge: no room for an outcome", "huge: no room for a claim", "huge and dispatching",
	"huge attribute that nobody knows", "huge reference",
}

// TestNoBrokenRowFitsTheSchema, so that a foreign writer finds his mistake before it is stored.
func TestNoBrokenRowFitsTheSchema(t *testing.T) {
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
			!strings.Contains(err.Error(), "no gzip") {
			t.Fatalf("fits, but: %v\n%v", err, row)
		}
	}
	if fitting < 100 {
		t.Errorf("only %d items fit: that tells little", fitting)
	}
}
