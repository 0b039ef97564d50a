// Package secrets is the part of AWS Secrets Manager that creates, rotates and reads secrets.
//
// It follows the service's documentation; docs/local-aws.md lists the operations and the departures. Nothing is
// encrypted, secrets live in memory and end with the process. A Service is not safe for concurrent use, but for Decode;
// package localaws guards it.
package secrets

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

const account = "000000000000"

// Service is Secrets Manager in one account and region. It implements wire.Service.
type Service struct {
	region  string
	made    int                // secrets, ever
	secrets map[string]*secret // by name
}

// New makes a Service without secrets.
func New(region string) *Service { return &Service{region: region, secrets: map[string]*secret{}} }

// Name is the name of the service in ledgers and fault plans.
func (s *Service) Name() string { return "secretsmanager" }

// Target is what stands before the names of operations on the wire.
func (s *Service) Target() string { return "secretsmanager" }

var operations = wire.Operations[*Service]{
	"CreateSecret":   wire.Reading((*Service).createSecret),
	"DeleteSecret":   wire.Reading((*Service).deleteSecret),
	"GetSecretValue": wire.Reading((*Service).getSecretValue),
	"PutSecretValue": wire.Reading((*Service).putSecretValue),
}

// Decode reads and checks a request as far as that is possible without looking at secrets.
func (s *Service) Decode(r *wire.Request) (wire.Operation, error) {
	return operations.Decode("Secrets Manager", s, r)
}

// operation is a request that was read.
type operation struct {
	resource string
	run      func(now time.Time) (any, error)
}

// Resource is the name of the secret that the operation is about.
func (o operation) Resource() string { return o.resource }

// Run does the work, unless the fault is an error.
func (o operation) Run(now time.Time, f faults.Fault) wire.Outcome {
	if f.Error != "" {
		return wire.Outcome{Err: faulty(f.Error)}
	}
	answer, err := o.run(now)
	return wire.Outcome{Answer: answer, Err: err}
}

func faulty(kind faults.Error) error {
	e := failure("InternalServiceError", "An error occurred on the server side.")
	e.Status = http.StatusInternalServerError
	switch kind {
	case faults.Throttle:
		e.Type, e.Message, e.Status = "ThrottlingException", "Rate exceeded", http.StatusBadRequest
	case faults.Unavailable:
		e.Type, e.Message, e.Status = "ServiceUnavailable", "The service is unavailable", http.StatusServiceUnavailable
	}
	return e
}

func failure(typ, format string, args ...any) *wire.Error {
	return &wire.Error{Namespace: "com.amazonaws.secretsmanager", Type: typ, Message: fmt.Sprintf(format, args...)}
}

func notFound() error {
	return failure("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
}

func deleted() error {
	return failure("InvalidRequestException", "You can't perform this operation on the secret because it was marked for deletion.")
}

// legalName: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html
var legalName = regexp.MustCompile(`^[A-Za-z0-9/_+=.@!-]{1,512}$`)

// arn of a secret ends in six characters that tell it from another of the same name, before or after it.
func (s *Service) arn(name string) string {
	s.made++
	sum := sha256.Sum256(fmt.Append(nil, s.made, name))
	return fmt.Sprintf("arn:aws:secretsmanager:%s:%s:secret:%s-%.6s", s.region, account, name, base32.StdEncoding.EncodeToString(sum[:]))
}

// nameOf is the name in a secret's id: a name, or an ARN with or without its last six characters.
func (s *Service) nameOf(id string) (name string, err error) {
	name, isARN := strings.CutPrefix(id, "arn:aws:secretsmanager:"+s.region+":"+account+":secret:")
	if _, whole := s.secrets[name]; isARN && !whole && len(name) > 7 && name[len(name)-7] == '-' {
		name = name[:len(name)-7]
	}
	if !legalName.MatchString(name) {
		return "", failure("ValidationException", "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!")
	}
	return name, nil
}

// find is the secret of an id as of now.
func (s *Service) find(now time.Time, id string) (*secret, error) {
	name, err := s.nameOf(id)
	if err != nil {
		return nil, err
	}
	x := s.secrets[name]
	if x != nil && !x.deletion.IsZero() && !now.Before(x.deletion) {
		delete(s.secrets, name)
		x = nil
	}
	if x == nil || strings.HasPrefix(id, "arn:") && !strings.HasPrefix(x.arn, id) {
		return nil, notFound()
	}
	return x, nil
}
