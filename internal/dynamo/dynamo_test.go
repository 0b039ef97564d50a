package dynamo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb/expr"
)

// TestExpressionsReplaceReservedWords, of all that package schema says, attributes among it.
func TestExpressionsReplaceReservedWords(t *testing.T) {
	t.Parallel()
	var w dynamo.Write
	said := 0
	for _, file := range []string{"schema.go", "routing.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../schema/"+file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || strings.ContainsFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
				return true // no attribute
			}
			said++
			switch notAttributes := " end group member unknown "; {
			case strings.Contains(notAttributes, " "+text+" "):
			case expr.Reserved(w.Name(text)):
				t.Errorf("%s is a reserved word", text)
			}
			return true
		})
	}
	if said < 50 {
		t.Errorf("only %d texts looked at", said)
	}
}

func TestWriteHasItsChangesAndConditions(t *testing.T) {
	t.Parallel()
	var w dynamo.Write
	w.RequireExists("pk")
	w.RequireIs("status", dynamo.Text("pending"))
	w.RequireIs("code", nil)
	w.RequireFlag("again", false)
	w.RequireFlag("draining", true)
	w.Remove("lane")
	w.Set("status", dynamo.Text("completed"))
	w.SetOrRemove("window", nil)
	w.SetOrRemove("reason", dynamo.Text("asked for"))
	w.SetTo("attempt", "attempt + ", w.Value(dynamo.Number(1)))
	table, key := "t", dynamo.Item{"pk": dynamo.Text("a")}
	got := w.Update(&table, key, types.ReturnValueAllNew)
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("update", aws.ToString(got.UpdateExpression),
		"SET #status = :d, reason = :e, attempt = attempt + :f REMOVE lane, #window")
	check("condition", aws.ToString(got.ConditionExpression), "attribute_exists(pk) AND #status = :a AND attribute_not_exists(code)"+
		" AND (attribute_not_exists(again) OR again = :b) AND draining = :c")
	check("names", got.ExpressionAttributeNames, map[string]string{"#status": "status", "#window": "window"})
	check("number of values", len(got.ExpressionAttributeValues), 6)
	check("a value", got.ExpressionAttributeValues[":f"].(*types.AttributeValueMemberN).Value, "1")

	var nothing dynamo.Write
	if put := nothing.Put(&table, key); put.ConditionExpression != nil || put.ExpressionAttributeNames != nil || put.ExpressionAttributeValues != nil {
		t.Errorf("a put without conditions has some: %+v", put)
	}
	var removes dynamo.Write
	removes.Remove("lane")
	check("no more than a removal", aws.ToString(removes.Update(&table, key, types.ReturnValueNone).UpdateExpression), "REMOVE lane")
	var many dynamo.Write
	names := map[string]bool{}
	for range 62 {
		names[many.Value(dynamo.Flag(true))] = true
	}
	check("names of values", len(names), 62)
}
