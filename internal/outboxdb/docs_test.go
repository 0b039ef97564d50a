package outboxdb_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func page(t *testing.T) string { return read(t, "../../docs/row-format.md") }

func TestLanesOnThePublicPageAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	vectors := regexp.MustCompile("(?m)^\\| `([^`]+#[^`]+)` \\| (\\d+) \\| (\\d) \\| (\\d) \\| (\\d) \\|$").FindAllStringSubmatch(page(t), -1)
	if len(vectors) < 6 {
		t.Fatalf("found %d vectors", len(vectors))
	}
	for _, v := range vectors {
		id := outbox.ParsePK(v[1])
		if sum := fmt.Sprint(crc32.ChecksumIEEE([]byte(v[1]))); sum != v[2] {
			t.Errorf("CRC-32 of %s is %s, not %s", v[1], sum, v[2])
		}
		for i, shards := range []int{2, 4, 7} {
			if n := strconv.Itoa(id.Shard(shards)); n != v[3+i] {
				t.Errorf("%s of %d lanes is in %s, not %s", v[1], shards, n, v[3+i])
			}
		}
	}
}

func TestPlaceHoldersOnThePublicPageAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	text := page(t)
	put, err := outboxdb.Insert(table, pending("k", nil))
	if err != nil {
		t.Fatal(err)
	}
	hyphens := func(name string) string {
		return fmt.Sprintf("S, %d hyphens", len(put.Item[name].(*types.AttributeValueMemberS).Value))
	}
	number := func(name string) string { return "N `" + put.Item[name].(*types.AttributeValueMemberN).Value + "`" }
	for _, line := range []string{
		"| `token` | " + hyphens(schema.Token) + " |", "| `claimed_by` | " + hyphens(schema.ClaimedBy) + " |",
		"| `claimed_at`, `until` | " + number(schema.ClaimedAt) + " |", "| `window` | " + number(schema.Window) + " |",
		"| `attempt_count` | " + number(schema.AttemptCount) + " |",
		fmt.Sprintf("%d,%03d bytes", outboxdb.MaxItem/1000, outboxdb.MaxItem%1000),
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the page lacks %q", line)
		}
	}
}

func TestExampleRowsOfThePageAndOfTestdataAreGood(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/rows/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		example := parseItem(t, read(t, file))
		if err := fitsSchema(example); err != nil {
			t.Errorf("%s does not fit the schema: %v", file, err)
		}
		row := outboxdb.Decode(example)
		if row.Unreadable != nil || row.Status != outbox.StatusPending || !strings.Contains(string(row.Payload), "amount") {
			t.Errorf("%s: %q, %v", file, row.Payload, row.Unreadable)
		}
	}
	if minimal := read(t, "../../testdata/rows/minimal.json"); !strings.Contains(page(t), "```json\n"+minimal+"```") {
		t.Error("the page's example is not testdata/rows/minimal.json")
	}
}

// parseItem reads an item in DynamoDB's JSON, as far as rows need it.
func parseItem(t *testing.T, text string) item {
	t.Helper()
	var document map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	result := item{}
	for name, value := range document {
		for kind, raw := range value {
			var content string
			if kind == "M" {
				result[name] = &types.AttributeValueMemberM{Value: parseItem(t, string(raw))}
				continue
			}
			if err := json.Unmarshal(raw, &content); err != nil {
				t.Fatal(err)
			}
			switch kind {
			case "S":
				result[name] = s(content)
			case "N":
				result[name] = n(content)
			case "B":
				decoded, err := base64.StdEncoding.DecodeString(content)
				if err != nil {
					t.Fatal(err)
				}
				result[name] = b(decoded)
			}
		}
	}
	return result
}
