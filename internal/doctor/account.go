package doctor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/landfall-dev/landfall/internal/schema"
)

// What to do without credentials, and without an endpoint that answers.
const (
	LogIn         = "log in or set AWS_PROFILE; for landfall dev, export the lines that it prints"
	CheckEndpoint = "check --endpoint-url, AWS_ENDPOINT_URL and --region; for landfall dev, check that it runs"
)

// credentials reports whether there are credentials that AWS accepts.
func (e *examination) credentials(ctx context.Context) bool {
	const subject, remedy = "credentials", LogIn + ". `aws sts get-caller-identity` must work"
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if _, err := e.in.SDK.Credentials.Retrieve(ctx); err != nil {
		e.add(Finding{Bad, subject, Plain(err), remedy})
		return false
	}
	if e.in.Local {
		e.add(Finding{NotChecked, subject, "credentials were found; an AWS on this machine accepts any", ""})
		return true
	}
	caller, err := sts.NewFromConfig(e.in.SDK).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		e.add(Finding{Bad, subject, Plain(err), remedy})
		return false
	}
	e.add(Finding{OK, subject, aws.ToString(caller.Arn) + " in " + e.in.SDK.Region, ""})
	return true
}

// impossible is a condition that is false for every item, and for a missing one. A write with it changes nothing, but it
// needs the permission.
const impossible = "attribute_exists(#pk) AND attribute_not_exists(#pk)"

// probe is the key that permissions are tried on. No row has it, since it has no separator; nor has a scope of control
// items.
const probe = "landfall-doctor"

// permissions tries what the command line does to the outbox and control tables.
func (e *examination) permissions(ctx context.Context) {
	value := &types.AttributeValueMemberS{Value: probe}
	r := &report{subject: "permissions"}
	r.findings = append(e.tryTable(ctx, tableUse{
		name: e.in.Outbox, key: map[string]types.AttributeValue{schema.PK: value},
		query: schema.Lane, index: aws.String(schema.LaneIndex), neededBy: "enqueue and rows",
	}), e.tryTable(ctx, tableUse{
		name: e.in.Control, key: map[string]types.AttributeValue{schema.PK: value, schema.SK: value},
		query: schema.PK, neededBy: "groups, consumers and destinations", deletes: true,
	})...)
	e.add(r.orOK("you may do all that the command line does to tables")...)
}

// tableUse is how the command line uses a table.
type tableUse struct {
	name Name
	key  map[string]types.AttributeValue
	// query is the key of what is listed, of index or of the table.
	query string
	index *string
	// neededBy are the commands that use it.
	neededBy string
	deletes  bool
}

func (e *examination) tryTable(ctx context.Context, u tableUse) []Finding {
	if u.name.Err != nil {
		return nil // it is among the findings about tables
	}
	table, r := u.name.Value, &report{subject: "permissions"}
	condition, names := aws.String(impossible), map[string]string{"#pk": schema.PK}
	try := func(action string, err error) {
		switch {
		case err == nil, codeOf(err) == (*types.ConditionalCheckFailedException)(nil).ErrorCode():
		case denied(err):
			r.warn("you may not dynamodb:"+action+" on "+table+": "+u.neededBy+" will not work for you", "ask for the permission, or use another role")
		default:
			r.warn("dynamodb:"+action+" on "+table+": "+Plain(err), "see the findings about the table")
		}
	}
	_, err := read(ctx, e.tables.GetItem, &dynamodb.GetItemInput{TableName: &table, Key: u.key})
	try("GetItem", err)
	_, err = read(ctx, e.tables.Query, &dynamodb.QueryInput{
		TableName: &table, IndexName: u.index, KeyConditionExpression: aws.String("#q = :v"),
		ExpressionAttributeNames: map[string]string{"#q": u.query}, ExpressionAttributeValues: map[string]types.AttributeValue{":v": u.key[schema.PK]},
	})
	try("Query", err)
	_, err = read(ctx, e.tables.PutItem, &dynamodb.PutItemInput{TableName: &table, Item: u.key, ConditionExpression: condition, ExpressionAttributeNames: names})
	try("PutItem", err)
	_, err = read(ctx, e.tables.UpdateItem, &dynamodb.UpdateItemInput{TableName: &table, Key: u.key, ConditionExpression: condition, ExpressionAttributeNames: names})
	try("UpdateItem", err)
	if u.deletes {
		_, err = read(ctx, e.tables.DeleteItem, &dynamodb.DeleteItemInput{TableName: &table, Key: u.key, ConditionExpression: condition, ExpressionAttributeNames: names})
		try("DeleteItem", err)
	}
	return r.findings
}

// deployment compares the configuration with the one that the functions have.
func deployment(in Installation) []Finding {
	const subject = "deployment"
	deployed := in.Outputs[schema.ConfigOutput]
	switch {
	case in.Stack == "":
		return one(NotChecked, subject, "only a stack knows which configuration the functions have: name it with --stack", "")
	case deployed == "":
		return one(Warning, subject, "stack "+in.Stack+" has no output "+schema.ConfigOutput+": it is of an older version", "deploy it again")
	case in.Config == nil:
		return nil // it is among the findings
	}
	resolved, err := in.Config.Resolved()
	if err != nil {
		return one(Bad, subject, Plain(err), "run landfall validate")
	}
	sum := sha256.Sum256(resolved)
	if !strings.EqualFold(hex.EncodeToString(sum[:]), deployed) {
		return one(Warning, subject, "the functions have another configuration than this file", "deploy this file, or name theirs with --config")
	}
	return one(OK, subject, "the functions have this configuration", "")
}
