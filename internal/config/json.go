package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	cfg, err := decodeConfig(src)
	if err != nil {
		return refuse(jsonMessage(src, err))
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
	if err := dec.Decode(to); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the end of the configuration; remove it")
	}
	return nil
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

// anyKind is a destination as files have it: with keys of any kind, and without deduplicates, if that is not written.
type anyKind struct {
	common
	Deduplicates *Window `json:"deduplicates"`
	*HTTP
	*SQS
	*ToGroup
}

// decodeConfig reads what [Config.Resolved] wrote in one pass.
func decodeConfig(src []byte) (*Config, error) {
	type plain Config
	var file struct {
		plain
		Destinations map[string]anyKind `json:"destinations"`
	}
	if err := decode(src, &file); err != nil {
		return nil, err
	}
	cfg := Config(file.plain)
	cfg.Destinations = make(map[string]Destination, len(file.Destinations))
	for name, d := range file.Destinations {
		one, err := d.destination()
		if err != nil {
			return nil, fmt.Errorf("destinations.%s: %w", Plain(name), err)
		}
		cfg.Destinations[name] = one
	}
	return &cfg, nil
}

// destination is the one of the only kind that has a key here; of kind http if none has.
func (a anyKind) destination() (Destination, error) {
	d := Destination(a.common)
	d.Deduplicates = unset
	if a.Deduplicates != nil {
		d.Deduplicates = *a.Deduplicates
	}
	var targets []Target
	if a.HTTP != nil {
		targets = append(targets, a.HTTP)
	}
	if a.SQS != nil {
		targets = append(targets, a.SQS)
	}
	if a.ToGroup != nil {
		targets = append(targets, a.ToGroup)
	}
	switch len(targets) {
	case 0:
		d.Target = new(HTTP)
	case 1:
		d.Target = targets[0]
	default:
		return d, fmt.Errorf("has keys of kind %s and of kind %s", targets[0].Kind().Name, targets[1].Kind().Name)
	}
	return d, nil
}
