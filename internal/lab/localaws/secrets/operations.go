package secrets

import (
	"bytes"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// Labels of versions that the service moves by itself.
const (
	current  = "AWSCURRENT"
	previous = "AWSPREVIOUS"
)

// Limits. https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html
const (
	maxValue         = 65536
	minToken         = 32
	maxToken         = 64
	minWindow        = 7
	maxWindow        = 30 // days
	day              = 24 * time.Hour
	maxStagesAtATime = 20
)

type secret struct {
	name     string
	arn      string
	versions map[string]*version // by id
	deletion time.Time           // zero unless it is marked for deletion
}

type version struct {
	content content
	id      string
	created time.Time
	stages  []string
}

// content is what a version holds: a text or bytes, nil if not.
type content struct {
	text  *string
	bytes []byte
}

func (c content) empty() bool { return c.text == nil && c.bytes == nil }

func (c content) equal(d content) bool {
	return bytes.Equal(c.bytes, d.bytes) && (c.text == nil) == (d.text == nil) && (c.text == nil || *c.text == *d.text)
}

func (c content) check(token string) error {
	switch {
	case c.empty():
		return nil
	case c.text != nil && c.bytes != nil:
		return failure("InvalidParameterException", "You can't specify both a binary secret value and a string secret value in the same secret.")
	case c.text != nil && (len(*c.text) < 1 || len(*c.text) > maxValue), len(c.bytes) > maxValue:
		return failure("ValidationException", "A secret's value has 1 to %d bytes.", maxValue)
	case len(token) < minToken || len(token) > maxToken:
		return failure("InvalidParameterException", "You must provide a ClientRequestToken value of %d to %d characters.", minToken, maxToken)
	}
	return nil
}

// answer is what an operation tells of a secret, as far as it does.
type answer struct {
	ARN           string
	Name          string
	VersionId     string   `json:",omitempty"`
	VersionStages []string `json:",omitempty"`
	SecretString  *string  `json:",omitempty"`
	SecretBinary  []byte   `json:",omitempty"`
	CreatedDate   float64  `json:",omitempty"`
	DeletionDate  float64  `json:",omitempty"`
}

// writeInput are the parameters of CreateSecret (Name) and PutSecretValue (SecretId, VersionStages).
type writeInput struct {
	Name               string
	SecretId           string
	ClientRequestToken string
	SecretString       *string
	SecretBinary       []byte
	VersionStages      []string
}

func (in *writeInput) content() content { return content{in.SecretString, in.SecretBinary} }

func (s *Service) createSecret(in *writeInput) (operation, error) {
	if !legalName.MatchString(in.Name) {
		return operation{}, failure("ValidationException", "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!")
	}
	if err := in.content().check(in.ClientRequestToken); err != nil {
		return operation{}, err
	}
	return operation{in.Name, func(now time.Time) (any, error) {
		x, err := s.find(now, in.Name)
		if err == nil {
			v := x.versions[in.ClientRequestToken]
			switch {
			case !x.deletion.IsZero():
				return nil, failure("InvalidRequestException", "You can't create this secret because a secret with this name is already scheduled for deletion.")
			case v == nil || !v.content.equal(in.content()):
				return nil, failure("ResourceExistsException", "The operation failed because the secret %s already exists.", in.Name)
			}
			return answer{ARN: x.arn, Name: x.name, VersionId: v.id}, nil
		}
		x = &secret{name: in.Name, arn: s.arn(in.Name), versions: map[string]*version{}}
		s.secrets[in.Name] = x
		made := answer{ARN: x.arn, Name: x.name}
		if !in.content().empty() {
			made.VersionId = in.ClientRequestToken
			x.put(&version{content: in.content(), id: in.ClientRequestToken, created: now}, []string{current})
		}
		return made, nil
	}}, nil
}

func (s *Service) putSecretValue(in *writeInput) (operation, error) {
	if in.content().empty() {
		return operation{}, failure("InvalidRequestException", "You must provide either SecretString or SecretBinary.")
	}
	if err := in.content().check(in.ClientRequestToken); err != nil {
		return operation{}, err
	}
	if len(in.VersionStages) > maxStagesAtATime {
		return operation{}, failure("ValidationException", "At most %d staging labels.", maxStagesAtATime)
	}
	return s.about(in.SecretId, func(x *secret, now time.Time) (any, error) {
		v := x.versions[in.ClientRequestToken]
		switch {
		case v == nil:
			v = &version{content: in.content(), id: in.ClientRequestToken, created: now}
			stages := in.VersionStages
			if len(stages) == 0 {
				stages = []string{current}
			}
			x.put(v, stages)
		case !v.content.equal(in.content()):
			return nil, failure("ResourceExistsException", "You can't modify an existing version, you can only create a new version.")
		}
		return answer{ARN: x.arn, Name: x.name, VersionId: v.id, VersionStages: v.stages}, nil
	})
}

type getSecretValueInput struct {
	SecretId     string
	VersionId    string
	VersionStage string
}

func (s *Service) getSecretValue(in *getSecretValueInput) (operation, error) {
	if in.VersionId == "" && in.VersionStage == "" {
		in.VersionStage = current
	}
	return s.about(in.SecretId, func(x *secret, _ time.Time) (any, error) {
		for _, v := range x.versions {
			if (in.VersionId == "" || in.VersionId == v.id) && (in.VersionStage == "" || slices.Contains(v.stages, in.VersionStage)) {
				return answer{
					ARN: x.arn, Name: x.name, VersionId: v.id, VersionStages: v.stages,
					SecretString: v.content.text, SecretBinary: v.content.bytes, CreatedDate: seconds(v.created),
				}, nil
			}
		}
		switch v := x.versions[in.VersionId]; {
		case v != nil:
			return nil, failure("InvalidRequestException", "You provided a VersionStage that is not associated to the provided VersionId.")
		case in.VersionId != "":
			return nil, failure("ResourceNotFoundException", "Secrets Manager can't find the specified secret value for VersionId: %s", in.VersionId)
		}
		return nil, failure("ResourceNotFoundException", "Secrets Manager can't find the specified secret value for staging label: %s", in.VersionStage)
	})
}

type deleteSecretInput struct {
	SecretId                   string
	RecoveryWindowInDays       *int
	ForceDeleteWithoutRecovery bool
}

func (s *Service) deleteSecret(in *deleteSecretInput) (operation, error) {
	days := wire.Given(in.RecoveryWindowInDays, maxWindow)
	switch {
	case in.ForceDeleteWithoutRecovery && in.RecoveryWindowInDays != nil:
		return operation{}, failure("InvalidParameterException", "You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.")
	case days < minWindow || days > maxWindow:
		return operation{}, failure("InvalidParameterException", "The RecoveryWindowInDays value must be between %d and %d days (inclusive).", minWindow, maxWindow)
	}
	return s.about(in.SecretId, func(x *secret, now time.Time) (any, error) {
		x.deletion = now.Add(time.Duration(days) * day)
		if in.ForceDeleteWithoutRecovery {
			x.deletion = now
			delete(s.secrets, x.name)
		}
		return answer{ARN: x.arn, Name: x.name, DeletionDate: seconds(x.deletion)}, nil
	})
}

// about is an operation on a secret that is there and not marked for deletion.
func (s *Service) about(id string, run func(x *secret, now time.Time) (any, error)) (operation, error) {
	if id == "" {
		return operation{}, failure("ValidationException", "Value null at 'secretId' failed to satisfy constraint: Member must not be null")
	}
	return operation{id, func(now time.Time) (any, error) {
		x, err := s.find(now, id)
		switch {
		case err != nil:
			return nil, err
		case !x.deletion.IsZero():
			return nil, deleted()
		}
		return run(x, now)
	}}, nil
}

// put adds a version and moves labels to it; what was current becomes the previous one.
func (x *secret) put(v *version, stages []string) {
	for _, old := range x.versions {
		if slices.Contains(stages, current) && slices.Contains(old.stages, current) {
			x.unlabel(previous)
			old.stages = append(old.stages, previous)
		}
	}
	for _, stage := range stages {
		x.unlabel(stage)
	}
	v.stages = slices.Clone(stages)
	x.versions[v.id] = v
}

func (x *secret) unlabel(stage string) {
	for _, v := range x.versions {
		v.stages = slices.DeleteFunc(v.stages, func(s string) bool { return s == stage })
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
