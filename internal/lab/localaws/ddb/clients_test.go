package ddb

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// answerOf is the answer of an operation, or its error, as it travels.
func answerOf(t *testing.T, db *DB, name, body string) string {
	t.Helper()
	op, err := db.Decode(&wire.Request{Operation: name, Body: []byte(body)})
	if err != nil {
		return string(wire.Encode("", nil, err).Body)
	}
	out := op.Run(time.Unix(1e9, 0), faults.Fault{})
	return string(wire.Encode("", out.Answer, out.Err).Body)
}

func TestUpdateThatOnlyRemovesLeavesAMissingItemMissing(t *testing.T) {
	t.Parallel()
	const key = `{"TableName":"one","Key":{"k":{"S":"new"}}`
	for update, created := range map[string]bool{
		`"UpdateExpression":"REMOVE v"`: false,
		`"UpdateExpression":"DELETE v :v","ExpressionAttributeValues":{":v":{"SS":["x"]}}`: false,
		`"AttributeUpdates":{"v":{"Action":"DELETE"}}`:                                     false,
		`"AttributeUpdates":{}`: true,
		`"UpdateExpression":"REMOVE v SET w = :w","ExpressionAttributeValues":{":w":{"S":"x"}}`:         true,
		`"UpdateExpression":"ADD v :v","ExpressionAttributeValues":{":v":{"SS":["x"]}}`:                 true,
		`"UpdateExpression":"REMOVE v","ConditionExpression":"attribute_not_exists(k)"`:                 false,
		`"UpdateExpression":"REMOVE v","ReturnValues":"ALL_NEW","ReturnConsumedCapacity":"TOTAL"`:       false,
		`"AttributeUpdates":{"v":{"Action":"DELETE"},"w":{"Action":"PUT","Value":{"S":"x"}}}`:           true,
		`"UpdateExpression":"REMOVE v","ReturnValues":"UPDATED_NEW"`:                                    false,
		`"UpdateExpression":"REMOVE v","ReturnValues":"UPDATED_OLD","ReturnConsumedCapacity":"INDEXES"`: false,
	} {
		db := newTable(t)
		if out := do(t, db, "UpdateItem", key+","+update+"}"); out.Err != nil {
			t.Errorf("%s: %v", update, out.Err)
		}
		if got := answerOf(t, db, "GetItem", key+"}"); strings.Contains(got, "Item") != created {
			t.Errorf("%s: %s, want created = %t", update, got, created)
		}
	}
}

func TestKeyConditionsGoWithExpressionsOtherThanTheirOwn(t *testing.T) {
	t.Parallel()
	const query = `{"TableName":"one","KeyConditions":{"k":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}}`
	const values = `"ExpressionAttributeValues":{":v":{"S":"long"}}`
	for more, want := range map[string]string{
		`"FilterExpression":"v = :v",` + values:                         `"Count":1`,
		`"FilterExpression":"v <> :v",` + values:                        `"Count":0`,
		`"ProjectionExpression":"v"`:                                    `"Items":[{"v":{"S":"long"}}]`,
		`"KeyConditionExpression":"k = :v",` + values:                   "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {KeyConditions} Expression parameters: {KeyConditionExpression}",
		`"AttributesToGet":["v"],"FilterExpression":"v = :v",` + values: "Non-expression parameters: {AttributesToGet} Expression parameters: {FilterExpression}",
	} {
		if got := answerOf(t, newTable(t), "Query", query+","+more+"}"); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", more, got, want)
		}
	}
}

func TestOlderComparisonsHoldAsTheServiceDocumentsThem(t *testing.T) {
	t.Parallel()
	list := func(n int) string {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf(`{"S":"%d"}`, i)
		}
		return strings.Join(append(values, `{"S":"long"}`), ",")
	}
	for filter, want := range map[string]string{
		`"v":{"ComparisonOperator":"IN","AttributeValueList":[` + list(100) + `]}`:           `"Count":1`,
		`"v":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"short"}]}`:     `"Count":1`,
		`"v":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"lon"}]}`:       `"Count":0`,
		`"missing":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"x"}]}`:   `"Count":0`,
		`"v":{"ComparisonOperator":"EQ","Value":{"S":"long"}}`:                               `"Count":1`,
		`"v":{"ComparisonOperator":"EQ","Value":{"S":"x"},"AttributeValueList":[{"S":"x"}]}`: "Value and AttributeValueList cannot be used together for Attribute: v",
		`"v":{"ComparisonOperator":"EQ","Exists":true,"AttributeValueList":[{"S":"x"}]}`:     "Exists and ComparisonOperator cannot be used together for Attribute: v",
		`"v":{"ComparisonOperator":"EQ"}`:                                                    "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: v",
		`"v":{"AttributeValueList":[{"S":"x"}]}`:                                             "AttributeValueList can only be used with a ComparisonOperator for Attribute: v",
	} {
		got := answerOf(t, newTable(t), "Scan", `{"TableName":"one","ScanFilter":{`+filter+`}}`)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", filter, got, want)
		}
	}
}

func TestCancelledTransactionSaysMessageAsTheServiceSpellsIt(t *testing.T) {
	t.Parallel()
	got := answerOf(t, newTable(t), "TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"one","Key":{"k":{"S":"a"}},"ConditionExpression":"attribute_not_exists(k)"}}]}`)
	if !strings.Contains(got, `"Message":"Transaction cancelled, please refer`) || strings.Contains(got, `"message"`) {
		t.Error(got)
	}
}

func TestMistypedParametersAreRefusedInTheWordsOfTheService(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"TableName":1}`:                                           "NUMBER_VALUE cannot be converted to String",
		`{"TableName":true}`:                                        "TRUE_VALUE cannot be converted to String",
		`{"TableName":false}`:                                       "FALSE_VALUE cannot be converted to String",
		`{"TableName":["one"]}`:                                     "Start of structure or map found where not expected.",
		`{"TableName":"one","Limit":"1"}`:                           "STRING_VALUE cannot be converted to Integer",
		`{"TableName":"one","Limit":1.5}`:                           "NUMBER_VALUE cannot be converted to Integer",
		`{"TableName":"one","ScanFilter":"v"}`:                      "Unexpected field type",
		`{"TableName":"one","ConsistentRead":"true"}`:               "STRING_VALUE cannot be converted to Boolean",
		`{"TableName":"one","ExclusiveStartKey":{"k":"a"}}`:         "Unexpected field type",
		`{"TableName":"one","ExclusiveStartKey":{"k":{"S":1}}}`:     "NUMBER_VALUE cannot be converted to String",
		`{"TableName":"one","ExclusiveStartKey":{"k":{"SS":"a"}}}`:  "Unexpected field type",
		`{"TableName":"one","ExclusiveStartKey":{"k":{"S":["a"]}}}`: "Start of structure or map found where not expected.",
		`{"TableName":"one"`:                                        "the request is not valid JSON",
	} {
		got := answerOf(t, newTable(t), "Scan", body)
		if !strings.Contains(got, `#SerializationException","message":"`+want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestPathsIntoKeysAreRefused(t *testing.T) {
	t.Parallel()
	const key, values = `"TableName":"two","Key":{"k":{"S":"a"}}`, `"ExpressionAttributeValues":{":v":{"S":"a"}}`
	const query = `{"TableName":"two","KeyConditionExpression":"k = :v",` + values
	for request, want := range map[[2]string]string{
		{"GetItem", `{` + key + `,"ProjectionExpression":"k.a"}`}:                           "Key: k",
		{"GetItem", `{` + key + `,"ProjectionExpression":"g[0]"}`}:                          "IndexKey: g",
		{"Query", query + `,"ProjectionExpression":"g.a"}`}:                                 "IndexKey: g",
		{"Query", `{"TableName":"two","KeyConditionExpression":"k.a = :v",` + values + `}`}: "Key: k",
		{"Scan", `{"TableName":"two","FilterExpression":"k.a = :v",` + values + `}`}:        "Key: k",
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET g.a = :v",` + values + `}`}:    "IndexKey: g",
		{"DeleteItem", `{` + key + `,"ConditionExpression":"k[1] = :v",` + values + `}`}:    "Key: k",
	} {
		db := newTable(t)
		do(t, db, "CreateTable", `{"TableName":"two","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],
			"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
			"GlobalSecondaryIndexes":[{"IndexName":"byg","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`)
		want = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: " + want
		if got := answerOf(t, db, request[0], request[1]); !strings.Contains(got, want) {
			t.Errorf("%s %s: %s, want %s", request[0], request[1], got, want)
		}
	}
}

func TestNamesOfAttributesAreBounded(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]string{0: "Empty attribute name", 1: "{}", 65535: "{}", 65536: "Attribute name is too large"} {
		name := strings.Repeat("n", size)
		if got := answerOf(t, newTable(t), "PutItem", `{"TableName":"one","Item":{"k":{"S":"b"},"`+name+`":{"S":"v"}}}`); !strings.Contains(got, want) {
			t.Errorf("a name of %d bytes: %.200s", size, got)
		}
	}
	for size, want := range map[int]string{0: "length greater than or equal to 1", 255: "TableDescription", 256: "length less than or equal to 255"} {
		name := strings.Repeat("n", size)
		body := `{"TableName":"new","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"` + name + `","AttributeType":"S"}],"KeySchema":[{"AttributeName":"` + name + `","KeyType":"HASH"}]}`
		if got := answerOf(t, newTable(t), "CreateTable", body); !strings.Contains(got, want) {
			t.Errorf("a key's name of %d bytes: %.200s", size, got)
		}
	}
	body := `{"TableName":"new","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"},{"AttributeName":"k","AttributeType":"N"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}]}`
	if got := answerOf(t, newTable(t), "CreateTable", body); !strings.Contains(got, "Duplicate AttributeName in AttributeDefinitions: k") {
		t.Errorf("a definition twice: %s", got)
	}
}

func TestTagsOfATableAreKept(t *testing.T) {
	t.Parallel()
	const arn = `"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/one"`
	db := newTable(t)
	for _, step := range [][2]string{
		{"TagResource", `{` + arn + `,"Tags":[{"Key":"env","Value":"test"},{"Key":"team","Value":"a"}]}`},
		{"TagResource", `{` + arn + `,"Tags":[{"Key":"env","Value":"prod"}]}`},
		{"UntagResource", `{` + arn + `,"TagKeys":["team","none"]}`},
	} {
		if got := answerOf(t, db, step[0], step[1]); got != "{}" {
			t.Errorf("%s: %s", step[0], got)
		}
	}
	for body, want := range map[string]string{
		`{` + arn + `}`:         `{"Tags":[{"Key":"env","Value":"prod"}]}`,
		`{"ResourceArn":"one"}`: "Invalid TableArn: Invalid ResourceArn provided as input one",
		`{"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/none"}`: "AccessDeniedException",
		`{}`: "Value null at 'resourceArn'",
	} {
		if got := answerOf(t, db, "ListTagsOfResource", body); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestOptionsOfANewTableAreDescribedOrRefused(t *testing.T) {
	t.Parallel()
	const table = `{"TableName":"new","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}]`
	for option, want := range map[string]string{
		`"SSESpecification":{"Enabled":true}`:                  `"SSEDescription":{"KMSMasterKeyArn":"arn:aws:kms:`,
		`"OnDemandThroughput":{"MaxReadRequestUnits":7}`:       `"OnDemandThroughput":{"MaxReadRequestUnits":7}`,
		`"WarmThroughput":{"ReadUnitsPerSecond":7}`:            `"WarmThroughput":{"ReadUnitsPerSecond":7,`,
		`"TableClass":"STANDARD_INFREQUENT_ACCESS"`:            `"TableClassSummary"`,
		`"ResourcePolicy":"{}"`:                                "ResourcePolicy and GlobalTableSettingsReplicationMode are not part of the local DynamoDB",
		`"Tags":[{"Key":"","Value":"x"}]`:                      "tags.1.member.key",
		`"SSESpecification":{"Enabled":true,"SSEType":"none"}`: "Member must satisfy enum value set: [AES256, KMS]",
	} {
		if got := answerOf(t, newTable(t), "CreateTable", table+","+option+"}"); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", option, got, want)
		}
	}
}

func TestUpdatedTableIsWhatTheUpdateSays(t *testing.T) {
	t.Parallel()
	const create = `"AttributeDefinitions":[{"AttributeName":"v","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"byv","KeySchema":[{"AttributeName":"v","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]`
	const remove = `"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"byv"}}]`
	const query = `{"TableName":"one","IndexName":"byv","KeyConditionExpression":"v = :v","ExpressionAttributeValues":{":v":{"S":"long"}}}`
	const describe = `{"TableName":"one"}`
	for name, steps := range map[string][][3]string{ // operation, members or body, want
		"index": {
			{"UpdateTable", create, `"IndexName":"byv"`}, {"Query", query, `"Count":1`},
			{"PutItem", `{"TableName":"one","Item":{"k":{"S":"b"},"v":{"S":"long"}}}`, "{}"}, {"Query", query, `"Count":2`},
			{"UpdateTable", create, "Attempting to create an index which already exists"},
			{"UpdateTable", remove, `"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}]`},
			{"Query", query, "does not have the specified index"},
			{"UpdateTable", remove, "ResourceNotFoundException"},
		},
		"billing": {
			{"UpdateTable", `"BillingMode":"PROVISIONED"`, "must both be specified"},
			{"UpdateTable", `"BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6}`, `"WriteCapacityUnits":6`},
			{"UpdateTable", `"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6}`, "The provisioned throughput for the table will not change"},
			{"UpdateTable", `"BillingMode":"PAY_PER_REQUEST"`, `"BillingMode":"PAY_PER_REQUEST"`},
		},
		"protection": {
			{"UpdateTable", `"DeletionProtectionEnabled":true`, `"DeletionProtectionEnabled":true`}, {"DeleteTable", describe, "ValidationException"},
			{"UpdateTable", `"DeletionProtectionEnabled":false`, `"DeletionProtectionEnabled":false`}, {"DeleteTable", describe, "DELETING"},
		},
		"stream": {
			{"UpdateTable", `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}`, `"LatestStreamArn"`},
			{"UpdateTable", `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}`, "Table already has an enabled stream"},
			{"UpdateTable", `"StreamSpecification":{"StreamEnabled":false}`, "UPDATING"}, {"DescribeTable", describe, "ACTIVE"},
		},
		"refused": {
			{"UpdateTable", `"TableClass":""`, "At least one of"}, {"UpdateTable", `"ReplicaUpdates":[{}]`, "Global tables are not part"},
			{"UpdateTable", `"GlobalSecondaryIndexUpdates":[{}]`, "must not be null"},
		},
	} {
		db := newTable(t)
		for i, step := range steps {
			body := step[1]
			if step[0] == "UpdateTable" {
				body = `{"TableName":"one",` + body + "}"
			}
			if got := answerOf(t, db, step[0], body); !strings.Contains(got, step[2]) {
				t.Errorf("%s, step %d: %s, want %s", name, i, got, step[2])
			}
		}
	}
}
