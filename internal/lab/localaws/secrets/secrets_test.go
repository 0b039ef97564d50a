package secrets_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
)

func TestInjectedFaultHasItsOwnErrorCode(t *testing.T) {
	t.Parallel()
	var fault faults.Fault
	account := localaws.New(localaws.Options{Faults: func(r faults.Request) faults.Fault {
		if r.Service != "secretsmanager" || r.Operation != "GetSecretValue" || r.Resource != "partner" {
			t.Errorf("asked about %+v", r)
		}
		return fault
	}})
	config := account.Config("test")
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	client := secretsmanager.NewFromConfig(config)
	for kind, want := range map[faults.Error]string{
		"": "ResourceNotFoundException", faults.Throttle: "ThrottlingException", faults.Internal: "InternalServiceError", faults.Unavailable: "ServiceUnavailable",
	} {
		fault = faults.Fault{Error: kind}
		_, err := client.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: aws.String("partner")})
		var failure smithy.APIError
		if !errors.As(err, &failure) || failure.ErrorCode() != want {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
		if n := account.Ledger().Sum(func(k ledger.Key) bool { return k.Service == "secretsmanager" && k.Error == want }).Requests; n != 1 {
			t.Errorf("the ledger has %d requests that ended in %s", n, want)
		}
	}
}

func TestSecretMarkedForDeletionIsGoneAfterItsWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := secretsmanager.NewFromConfig(localaws.New(localaws.Options{}).Config("test"))
		name := aws.String("partner")
		create := func() error {
			_, err := client.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: name, SecretString: aws.String("x")})
			return err
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
		if _, err := client.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: name}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30*24*time.Hour - time.Second) // virtual
		var state *types.InvalidRequestException
		if err := create(); !errors.As(err, &state) {
			t.Errorf("within its window: %v", err)
		}
		time.Sleep(time.Second) // virtual
		if err := create(); err != nil {
			t.Errorf("after its window: %v", err)
		}
	})
}
