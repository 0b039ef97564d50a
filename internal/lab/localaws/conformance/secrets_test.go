package conformance

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
)

// vault is a Secrets Manager under test.
type vault struct {
	*testing.T
	*secretsmanager.Client
}

func newVault(t *testing.T) vault {
	endpoint := os.Getenv("LANDFALL_ENDPOINT")
	if endpoint == "" {
		return vault{t, secretsmanager.NewFromConfig(localaws.New(localaws.Options{}).Config("conformance"))}
	}
	return vault{t, secretsmanager.NewFromConfig(aws.Config{Region: localaws.Region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})}
}

var made atomic.Int64

// create makes a secret that is deleted after the test, and returns its name and ARN.
func (v vault) create(text *string) (name, arn string) {
	v.Helper()
	name = fmt.Sprintf("landfall/%d-%d", time.Now().UnixNano(), made.Add(1))
	out, err := v.CreateSecret(v.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: text})
	if err != nil {
		v.Fatalf("create secret: %v", err)
	}
	return name, aws.ToString(out.ARN)
}

func (v vault) put(in secretsmanager.PutSecretValueInput) *secretsmanager.PutSecretValueOutput {
	v.Helper()
	out, err := v.PutSecretValue(v.Context(), &in)
	if err != nil {
		v.Fatalf("put secret value: %v", err)
	}
	return out
}

func (v vault) get(in secretsmanager.GetSecretValueInput) string {
	v.Helper()
	out, err := v.GetSecretValue(v.Context(), &in)
	if err != nil {
		v.Fatalf("get secret value: %v", err)
	}
	return aws.ToString(out.SecretString)
}

func TestSecretsAreFoundUnderTheirNamesAlone(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	name, arn := v.create(aws.String("hunter2"))
	if !strings.Contains(arn, ":secret:"+name+"-") {
		t.Errorf("ARN %s", arn)
	}
	for _, id := range []string{name, arn, strings.TrimSuffix(arn, arn[len(arn)-7:])} {
		out, err := v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &id})
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if aws.ToString(out.SecretString) != "hunter2" || aws.ToString(out.Name) != name || aws.ToString(out.ARN) != arn ||
			!slices.Equal(out.VersionStages, []string{"AWSCURRENT"}) || len(aws.ToString(out.VersionId)) < 32 ||
			time.Since(aws.ToTime(out.CreatedDate)) > time.Minute {
			t.Errorf("%s: %+v", id, out)
		}
	}
	var missing *types.ResourceNotFoundException
	for _, id := range []string{name + "x", name[:len(name)-1], arn[:len(arn)-1] + "_"} {
		if _, err := v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &id}); !errors.As(err, &missing) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestSecretsAreReadByVersionAndLabel(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	name, _ := v.create(aws.String("one"))
	id := &name
	first, err := v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: id})
	if err != nil {
		t.Fatal(err)
	}
	second := v.put(secretsmanager.PutSecretValueInput{SecretId: id, SecretString: aws.String("two")})
	v.put(secretsmanager.PutSecretValueInput{SecretId: id, SecretString: aws.String("three"), VersionStages: []string{"AWSPENDING"}})
	for stage, want := range map[string]string{"AWSCURRENT": "two", "AWSPREVIOUS": "one", "AWSPENDING": "three"} {
		if got := v.get(secretsmanager.GetSecretValueInput{SecretId: id, VersionStage: &stage}); got != want {
			t.Errorf("%s is %q, want %q", stage, got, want)
		}
	}
	v.put(secretsmanager.PutSecretValueInput{SecretId: id, SecretString: aws.String("four")})
	for stage, want := range map[string]string{"AWSCURRENT": "four", "AWSPREVIOUS": "two"} {
		if got := v.get(secretsmanager.GetSecretValueInput{SecretId: id, VersionStage: &stage}); got != want {
			t.Errorf("then %s is %q, want %q", stage, got, want)
		}
	}
	out, err := v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: id, VersionId: second.VersionId})
	if err != nil || aws.ToString(out.SecretString) != "two" || !slices.Equal(out.VersionStages, []string{"AWSPREVIOUS"}) {
		t.Errorf("the second version: %+v, %v", out, err)
	}
	out, err = v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: id, VersionId: first.VersionId})
	if err != nil || aws.ToString(out.SecretString) != "one" || len(out.VersionStages) != 0 {
		t.Errorf("the first version: %+v, %v", out, err)
	}
	var missing *types.ResourceNotFoundException
	for _, in := range []secretsmanager.GetSecretValueInput{
		{SecretId: id, VersionStage: aws.String("another")},
		{SecretId: id, VersionId: aws.String(strings.Repeat("0", 36))},
	} {
		if _, err := v.GetSecretValue(t.Context(), &in); !errors.As(err, &missing) {
			t.Errorf("%v: %v", in, err)
		}
	}
	var mismatch *types.InvalidRequestException
	in := secretsmanager.GetSecretValueInput{SecretId: id, VersionId: second.VersionId, VersionStage: aws.String("AWSCURRENT")}
	if _, err := v.GetSecretValue(t.Context(), &in); !errors.As(err, &mismatch) {
		t.Errorf("a version without the label: %v", err)
	}
}

func TestSecretsPutTwiceAreOneVersion(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	name, _ := v.create(aws.String("one"))
	token := aws.String(strings.Repeat("t", 32))
	in := secretsmanager.PutSecretValueInput{SecretId: &name, SecretString: aws.String("two"), ClientRequestToken: token}
	first, again := v.put(in), v.put(in)
	if aws.ToString(first.VersionId) != *token || aws.ToString(again.VersionId) != *token {
		t.Errorf("versions %v, %v", first.VersionId, again.VersionId)
	}
	in.SecretString = aws.String("three")
	var exists *types.ResourceExistsException
	if _, err := v.PutSecretValue(t.Context(), &in); !errors.As(err, &exists) {
		t.Errorf("another content under the same token: %v", err)
	}
	if _, err := v.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: aws.String("x")}); !errors.As(err, &exists) {
		t.Errorf("another secret of the same name: %v", err)
	}
	if got := v.get(secretsmanager.GetSecretValueInput{SecretId: &name}); got != "two" {
		t.Errorf("the secret is %q", got)
	}
}

func TestSecretsThatAreIllegalAreRefused(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	name, _ := v.create(nil)
	var missing *types.ResourceNotFoundException
	if _, err := v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &name}); !errors.As(err, &missing) {
		t.Errorf("a secret without a value: %v", err)
	}
	for why, in := range map[string]secretsmanager.PutSecretValueInput{
		"nothing":  {},
		"both":     {SecretString: aws.String("a"), SecretBinary: []byte("a")},
		"too long": {SecretString: aws.String(strings.Repeat("x", 65537))},
		"token":    {SecretString: aws.String("a"), ClientRequestToken: aws.String("short")},
	} {
		in.SecretId = &name
		var failure smithy.APIError
		if _, err := v.PutSecretValue(t.Context(), &in); !errors.As(err, &failure) || failure.ErrorFault() == smithy.FaultServer {
			t.Errorf("%s: %v", why, err)
		}
	}
	for _, bad := range []string{"a b", "ä", "a:b", strings.Repeat("n", 513)} {
		if _, err := v.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &bad, SecretString: aws.String("x")}); err == nil {
			t.Errorf("a secret of the name %.20q", bad)
		}
	}
	longest := strings.Repeat("x", 65536)
	v.put(secretsmanager.PutSecretValueInput{SecretId: &name, SecretString: &longest})
	if got := v.get(secretsmanager.GetSecretValueInput{SecretId: &name}); got != longest {
		t.Errorf("%d bytes", len(got))
	}
	v.put(secretsmanager.PutSecretValueInput{SecretId: &name, SecretBinary: []byte{0, 255}})
	out, err := v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &name})
	if err != nil || out.SecretString != nil || string(out.SecretBinary) != "\x00\xff" {
		t.Errorf("binary: %+v, %v", out, err)
	}
}

func TestDeletedSecretsAreRefused(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	name, _ := v.create(aws.String("one"))
	if _, err := v.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: &name, RecoveryWindowInDays: aws.Int64(7)}); err != nil {
		t.Fatal(err)
	}
	var state *types.InvalidRequestException
	if _, err := v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &name}); !errors.As(err, &state) {
		t.Errorf("read: %v", err)
	}
	if _, err := v.PutSecretValue(t.Context(), &secretsmanager.PutSecretValueInput{SecretId: &name, SecretString: aws.String("x")}); !errors.As(err, &state) {
		t.Errorf("put: %v", err)
	}
	if _, err := v.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: aws.String("x")}); !errors.As(err, &state) {
		t.Errorf("create: %v", err)
	}
	gone, _ := v.create(aws.String("one"))
	if _, err := v.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: &gone, ForceDeleteWithoutRecovery: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	var missing *types.ResourceNotFoundException
	if _, err := v.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &gone}); !errors.As(err, &missing) {
		t.Errorf("read what is gone: %v", err)
	}
}
