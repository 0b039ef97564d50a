package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// The command line asks CloudFormation one question, with a signed form and a few XML elements. The SDK's client would be
// a quarter of the program.

// stackName as CloudFormation allows it, or a stack's ARN.
var stackName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]{0,127}|arn:[A-Za-z0-9:/_-]{1,300})$`)

// stackOutputs are the outputs of a deployed stack, by name.
func stackOutputs(ctx context.Context, sdk aws.Config, endpoint, name string) (map[string]string, error) {
	if !stackName.MatchString(name) {
		return nil, badInputf("--stack %.80q: want a stack's name or ARN", name)
	}
	outputs, err := describe(ctx, sdk, cloudFormationURL(sdk, endpoint), name)
	if err != nil {
		return nil, fmt.Errorf("describe stack %s: %w", name, err)
	}
	return outputs, nil
}

func describe(ctx context.Context, sdk aws.Config, endpoint, name string) (map[string]string, error) {
	request, err := describeRequest(ctx, sdk, endpoint, name)
	if err != nil {
		return nil, err
	}
	response, err := sdk.HTTPClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return readOutputs(response)
}

// cloudFormationURL is the endpoint to call.
func cloudFormationURL(sdk aws.Config, endpoint string) string {
	suffix := "amazonaws.com"
	if strings.HasPrefix(sdk.Region, "cn-") {
		suffix = "amazonaws.com.cn"
	}
	return cmp.Or(endpoint, os.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION"), aws.ToString(sdk.BaseEndpoint),
		"https://cloudformation."+sdk.Region+"."+suffix)
}

func describeRequest(ctx context.Context, sdk aws.Config, endpoint, name string) (*http.Request, error) {
	form := url.Values{"Action": {"DescribeStacks"}, "StackName": {name}, "Version": {"2010-05-15"}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	if request.URL.Path == "" {
		request.URL.Path = "/"
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	credentials, err := credentialsOf(ctx, sdk)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(form))
	err = v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "cloudformation", sdk.Region, time.Now())
	return request, err
}

// description has the parts of an answer that are used, of a success or an error.
type description struct {
	Stacks []struct {
		Outputs []struct {
			Key   string `xml:"OutputKey"`
			Value string `xml:"OutputValue"`
		} `xml:"Outputs>member"`
	} `xml:"DescribeStacksResult>Stacks>member"`
	Code    string `xml:"Error>Code"`
	Message string `xml:"Error>Message"`
}

func readOutputs(response *http.Response) (map[string]string, error) {
	const most = 4 << 20
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return nil, err
	}
	var answer description
	if err := xml.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("the answer is not CloudFormation's (status %d); landfall dev has no stacks", response.StatusCode)
	}
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", printable(cmp.Or(answer.Code, response.Status)), printable(answer.Message))
	case len(answer.Stacks) != 1:
		return nil, fmt.Errorf("want one stack of that name, found %d", len(answer.Stacks))
	}
	outputs := map[string]string{}
	for _, o := range answer.Stacks[0].Outputs {
		outputs[o.Key] = o.Value
	}
	return outputs, nil
}
