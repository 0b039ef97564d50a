package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/landfall-dev/landfall/internal/schema"
)

// credentials reports whether there are any that AWS knows.
func (e *examination) credentials(ctx context.Context) bool {
	const subject, remedy = "credentials", "aws sts get-caller-identity says the same: " + logIn
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	if _, err := e.at.sdk.Credentials.Retrieve(ctx); err != nil {
		e.bad(subject, err.Error(), remedy)
		return false
	}
	if e.local {
		e.notChecked(subject, "there are some, and an AWS on this machine takes any")
		return true
	}
	who, err := sts.NewFromConfig(e.at.sdk).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		e.bad(subject, err.Error(), remedy)
		return false
	}
	e.ok(subject, aws.ToString(who.Arn)+" in "+e.at.sdk.Region)
	return true
}

// codeOf is the code of an error that AWS answered with; "" if it did not answer.
func codeOf(err error) string {
	var answered smithy.APIError
	if errors.As(err, &answered) {
		return answered.ErrorCode()
	}
	return ""
}

// denied are the codes of who may not do something.
var denied = []string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}

// impossible is a condition that no item fulfils, nor one that is not there. A write with it changes nothing, whoever may
// make it.
const impossible = "attribute_exists(#pk) AND attribute_not_exists(#pk)"

// nobody is no row's key, for it has no separator, and no scope of control items.
const nobody = "landfall-doctor"

// permissions tries what the command line does to the outbox and control tables.
func (e *examination) permissions(ctx context.Context, client *dynamodb.Client) {
	before := len(e.findings)
	value := &types.AttributeValueMemberS{Value: nobody}
	names := map[string]string{"#pk": schema.PK}
	values := map[string]types.AttributeValue{":v": value}
	for _, table := range []struct {
		name named
		key  map[string]types.AttributeValue
		// query is the key of what is listed, of an index or of the table.
		query string
		index *string
		// lost is what does not work without.
		lost    string
		deletes bool
	}{
		{outboxName, map[string]types.AttributeValue{schema.PK: value}, schema.Lane, aws.String(schema.LaneIndex), "enqueue and rows", false},
		{controlName, map[string]types.AttributeValue{schema.PK: value, schema.SK: value}, schema.PK, nil, "groups, consumers and destinations", true},
	} {
		name, err := e.at.name(table.name)
		if err != nil {
			continue // it is among the findings about tables
		}
		try := func(action string, err error) {
			switch code := codeOf(err); {
			case err == nil, code == (*types.ConditionalCheckFailedException)(nil).ErrorCode():
			case slices.Contains(denied, code):
				e.warn("permissions", "you may not dynamodb:"+action+" on "+name+": "+table.lost+" will not work for you", "ask for it, or use another role")
			default:
				e.warn("permissions", "dynamodb:"+action+" on "+name+": "+err.Error(), "see the findings about the table")
			}
		}
		_, err = look(ctx, client.GetItem, &dynamodb.GetItemInput{TableName: &name, Key: table.key})
		try("GetItem", err)
		_, err = look(ctx, client.Query, &dynamodb.QueryInput{
			TableName: &name, IndexName: table.index, KeyConditionExpression: aws.String("#q = :v"),
			ExpressionAttributeNames: map[string]string{"#q": table.query}, ExpressionAttributeValues: values,
		})
		try("Query", err)
		_, err = look(ctx, client.PutItem, &dynamodb.PutItemInput{
			TableName: &name, Item: table.key, ConditionExpression: aws.String(impossible), ExpressionAttributeNames: names,
		})
		try("PutItem", err)
		_, err = look(ctx, client.UpdateItem, &dynamodb.UpdateItemInput{
			TableName: &name, Key: table.key, ConditionExpression: aws.String(impossible), ExpressionAttributeNames: names,
		})
		try("UpdateItem", err)
		if table.deletes {
			_, err = look(ctx, client.DeleteItem, &dynamodb.DeleteItemInput{
				TableName: &name, Key: table.key, ConditionExpression: aws.String(impossible), ExpressionAttributeNames: names,
			})
			try("DeleteItem", err)
		}
	}
	e.sound(before, "permissions", "what the command line does to tables is allowed")
}

// deployed compares the configuration with the functions'.
func (e *examination) deployed() {
	const subject = "deployment"
	there := e.at.outputs[schema.ConfigOutput]
	switch {
	case e.at.stack == "":
		e.notChecked(subject, "which configuration the functions have is known of a stack: --stack")
		return
	case there == "":
		e.warn(subject, "stack "+e.at.stack+" has no output "+schema.ConfigOutput+": it is of an older version", "deploy it anew")
		return
	case e.cfg == nil:
		return // it is among the findings
	}
	resolved, err := e.cfg.Resolved()
	if err != nil {
		e.bad(subject, err.Error(), "see landfall validate")
		return
	}
	sum := sha256.Sum256(resolved)
	if !strings.EqualFold(hex.EncodeToString(sum[:]), there) {
		e.warn(subject, "the functions have another configuration than this file", "deploy this one, or name theirs with --config")
		return
	}
	e.ok(subject, "the functions have this configuration")
}
