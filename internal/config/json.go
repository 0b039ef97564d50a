package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// Load reads a resolved configuration, landfall.json. It is what a function does when it starts, so it does little:
// no YAML, no defaults. A file that was changed by hand is still checked; an [*Error] names what is wrong.
func Load(path string) (*Config, error) {
	src, err := Read(path)
	if err != nil {
		return nil, err
	}
	return ParseJSON(path, src)
}

// Read reads a configuration file of either kind. It stops one byte past the bound, where parsing refuses the file.
func Read(path string) ([]byte, error) {
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
func ParseJSON(name string, src []byte, checks ...Check) (*Config, error) {
	refuse := func(message string) (*Config, error) {
		return nil, NewError(name, []Problem{{Message: message}})
	}
	if len(src) > MaxBytes {
		return refuse(TooLong)
	}
	cfg := &Config{}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(cfg); err != nil {
		return refuse(jsonMessage(src, err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return refuse("text after the end of the configuration; remove it")
	}
	if problems := cfg.Check(checks...); len(problems) > 0 {
		return nil, NewError(name, problems)
	}
	return cfg, nil
}

// TooLong is the problem of a file of more than [MaxBytes].
var TooLong = fmt.Sprintf("the file is too long; the maximum is %d bytes", MaxBytes)

// jsonMessage leaves out what encoding/json quotes from the file where that could be a header's value.
func jsonMessage(src []byte, err error) string {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("invalid JSON at byte %d of %d; make this file with `landfall validate --output json`", syntax.Offset, len(src))
	case errors.As(err, &mismatch):
		return fmt.Sprintf("%s: cannot be %s, at byte %d", Clip(mismatch.Field), mismatch.Value, mismatch.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the file ends too early"
	}
	return Clip(err.Error())
}

// encode leaves URLs and expressions readable.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func decode(src []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	return dec.Decode(to)
}

// common is a destination without the keys of its kind.
type common Destination

// MarshalJSON writes the keys of all destinations, then those of the destination's kind.
func (d Destination) MarshalJSON() ([]byte, error) {
	all, err := encode(common(d))
	if err != nil || d.Target == nil {
		return all, err
	}
	own, err := encode(d.Target)
	return append(append(all[:len(all)-1], ','), own[1:]...), err
}

// UnmarshalJSON tells a window that is missing from one that is "never".
func (d *Destination) UnmarshalJSON(src []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(src, &keys); err != nil {
		return err
	}
	kind := kindFor(slices.Sorted(maps.Keys(keys)))
	own := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if kind.Keys.Key(name) != nil {
			own[name] = keys[name]
			delete(keys, name)
		} else if other := kind.table().Foreign[name]; other != "" {
			return fmt.Errorf("%s: key of kind %s in a destination of kind %s", name, other, kind.Name)
		}
	}
	c, target := common{Deduplicates: unset}, kind.target()
	if err := decodeKeys(keys, &c); err != nil {
		return err
	}
	if err := decodeKeys(own, target); err != nil {
		return err
	}
	*d = Destination(c)
	d.Target = target
	return nil
}

func decodeKeys(keys map[string]json.RawMessage, to any) error {
	src, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return decode(src, to)
}
