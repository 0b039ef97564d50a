package secrets

import (
	"bytes"
	"slices"
	"time"
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
	content
	id      string
	created time.Time
	stages  []string
}

// content is what a version holds: a text or bytes, nil if not.
type content struct {
	SecretString *string
	SecretBinary []byte
}

func (c content) empty() bool { return c.SecretString == nil && c.SecretBinary == nil }

func (c content) equal(d content) bool {
	return bytes.Equal(c.SecretBinary, d.SecretBinary) && (c.SecretString == nil) == (d.SecretString == nil) &&
		(c.SecretString == nil || *c.SecretString == *d.SecretString)
}

func (c content) check(token string) error {
	switch {
	case c.empty():
		return nil
	case c.SecretString != nil && c.SecretBinary != nil:
		return failure("InvalidParameterException", "You can't specify both a binary secret value and a string secret value in the same secret.")
	case c.SecretString != nil && (len(*c.SecretString) < 1 || len(*c.SecretString) > maxValue), len(c.SecretBinary) > maxValue:
		return failure("ValidationException", "A secret's value has 1 to %d bytes.", maxValue)
	case len(token) < minToken || len(token) > maxToken:
		return failure("InvalidParameterException", "You must provide a ClientRequestToken value of %d to %d characters.", minToken, maxToken)
	}
	return nil
}

// identity is how answers name a secret.
type identity struct {
	ARN  string
	Name string
}

type versionAnswer struct {
	identity
	VersionId     string   `json:",omitempty"`
	VersionStages []string `json:",omitempty"`
}

type createSecretInput struct {
	content
	Name               string
	ClientRequestToken string
}

func (s *Service) createSecret(in *createSecretInput) (operation, error) {
	if !legalName.MatchString(in.Name) {
		return operation{}, failure("ValidationException", "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!")
	}
	if err := in.check(in.ClientRequestToken); err != nil {
		return operation{}, err
	}
	return operation{in.Name, func(now time.Time) (any, error) {
		x, err := s.find(now, in.Name)
		if err == nil {
			v := x.versions[in.ClientRequestToken]
			switch {
			case !x.deletion.IsZero():
				return nil, failure("InvalidRequestException", "You can't create this secret because a secret with this name is already scheduled for deletion.")
			case v == nil || !v.equal(in.content):
				return nil, failure("ResourceExistsException", "The operation failed because the secret %s already exists.", in.Name)
			}
			return versionAnswer{identity: x.identity(), VersionId: v.id}, nil
		}
		x = &secret{name: in.Name, arn: s.arn(in.Name), versions: map[string]*version{}}
		s.secrets[in.Name] = x
		answer := versionAnswer{identity: x.identity()}
		if !in.empty() {
			answer.VersionId = in.ClientRequestToken
			x.put(&version{content: in.content, id: in.ClientRequestToken, created: now}, []string{current})
		}
		return answer, nil
	}}, nil
}

type putSecretValueInput struct {
	content
	SecretId           string
	ClientRequestToken string
	VersionStages      []string
}

func (s *Service) putSecretValue(in *putSecretValueInput) (operation, error) {
	if in.empty() {
		return operation{}, failure("InvalidRequestException", "You must provide either SecretString or SecretBinary.")
	}
	if err := in.check(in.ClientRequestToken); err != nil {
		return operation{}, err
	}
	if len(in.VersionStages) > maxStagesAtATime {
		return operation{}, failure("ValidationException", "At most %d staging labels.", maxStagesAtATime)
	}
	return s.about(in.SecretId, func(x *secret, now time.Time) (any, error) {
		v := x.versions[in.ClientRequestToken]
		switch {
		case v == nil:
			v = &version{content: in.content, id: in.ClientRequestToken, created: now}
			stages := in.VersionStages
			if len(stages) == 0 {
				stages = []string{current}
			}
			x.put(v, stages)
		case !v.equal(in.content):
			return nil, failure("ResourceExistsException", "You can't modify an existing version, you can only create a new version.")
		}
		return versionAnswer{x.identity(), v.id, v.stages}, nil
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
				return struct {
					versionAnswer
					SecretString *string `json:",omitempty"`
					SecretBinary []byte  `json:",omitempty"`
					CreatedDate  float64
				}{versionAnswer{x.identity(), v.id, v.stages}, v.SecretString, v.SecretBinary, seconds(v.created)}, nil
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
	days := maxWindow
	if in.RecoveryWindowInDays != nil {
		days = *in.RecoveryWindowInDays
	}
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
		return struct {
			identity
			DeletionDate float64
		}{x.identity(), seconds(x.deletion)}, nil
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

func (x *secret) identity() identity { return identity{x.arn, x.name} }

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
