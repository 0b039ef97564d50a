package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Load reads a resolved configuration, landfall.json. It is what a function does when it starts, so it does little:
// no YAML, no defaults. A file that was changed by hand is still checked; an [*Error] names what is wrong.
func Load(path string) (*Config, error) {
	src, err := read(path)
	if err != nil {
		return nil, err
	}
	return ParseJSON(path, src)
}

// LoadFile reads a file of either kind: a resolved one if its name ends in .json, else a landfall.yaml. What the checks
// find is reported with everything else.
func LoadFile(path string, checks ...Check) (*Config, error) {
	src, err := read(path)
	switch {
	case err != nil:
		return nil, err
	case strings.HasSuffix(path, ".json"):
		return parseJSON(path, src, checks)
	}
	return parseYAML(path, src, checks)
}

// read stops one byte past the bound, where parsing refuses the file.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return src, nil
}

// ParseJSON reads what [Config.Resolved] wrote. name is what errors call the file.
func ParseJSON(name string, src []byte) (*Config, error) { return parseJSON(name, src, nil) }

func parseJSON(name string, src []byte, checks []Check) (*Config, error) {
	refuse := func(message string) (*Config, error) {
		return nil, newError(name, []Problem{{Message: message}})
	}
	if len(src) > MaxBytes {
		return refuse(fmt.Sprintf("is longer than %d bytes", MaxBytes))
	}
	cfg := &Config{}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(cfg); err != nil {
		return refuse(jsonMessage(src, err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return refuse("has something after the configuration")
	}
	if problems := cfg.check(checks...); len(problems) > 0 {
		return nil, newError(name, problems)
	}
	return cfg, nil
}

// jsonMessage leaves out what encoding/json quotes from the file where that could be a header's value.
func jsonMessage(src []byte, err error) string {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("is no JSON, at byte %d of %d: landfall validate --output json resolves a landfall.yaml", syntax.Offset, len(src))
	case errors.As(err, &mismatch):
		return fmt.Sprintf("%s: cannot be %s, at byte %d", clip(mismatch.Field), mismatch.Value, mismatch.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "ends too early"
	}
	return clip(err.Error())
}

// UnmarshalJSON tells a window that is missing from one that is "never".
func (d *Destination) UnmarshalJSON(src []byte) error {
	type plain Destination
	p := plain{Deduplicates: unset}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return err
	}
	*d = Destination(p)
	return nil
}
