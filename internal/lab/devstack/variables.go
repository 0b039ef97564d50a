package devstack

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Account is the account number in every ARN of the desk.
const Account = "123456789012"

// reserved are the variables that a function's configuration cannot set
// (https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html).
var reserved = map[string]bool{
	"_HANDLER": true, "_X_AMZN_TRACE_ID": true,
	"AWS_DEFAULT_REGION": true, "AWS_REGION": true, "AWS_EXECUTION_ENV": true,
	"AWS_LAMBDA_FUNCTION_NAME": true, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": true,
	"AWS_LAMBDA_FUNCTION_VERSION": true, "AWS_LAMBDA_INITIALIZATION_TYPE": true,
	"AWS_LAMBDA_LOG_GROUP_NAME": true, "AWS_LAMBDA_LOG_STREAM_NAME": true,
	"AWS_LAMBDA_RUNTIME_API": true, "AWS_ACCESS_KEY": true, "AWS_ACCESS_KEY_ID": true,
	"AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true,
	"LAMBDA_TASK_ROOT": true, "LAMBDA_RUNTIME_DIR": true,
}

func checkVariables(env map[string]string) error {
	for name, value := range env {
		switch {
		case reserved[name]:
			return fmt.Errorf("environment variable %s is reserved: Lambda sets it", name)
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("environment variable %q: invalid name", name)
		case strings.Contains(value, "\x00"):
			return fmt.Errorf("environment variable %s: its value contains a NUL byte", name)
		}
	}
	return nil
}

// variables returns the whole environment of a process of f: nothing is inherited. The credentials
// are made up, and the files and the service where an SDK would look for real ones are shut.
func variables(f Function, region, runtimeAPI string, now time.Time) []string {
	env := map[string]string{
		"AWS_LAMBDA_RUNTIME_API":          runtimeAPI,
		"_HANDLER":                        filepath.Base(f.Path),
		"AWS_LAMBDA_FUNCTION_NAME":        f.Name,
		"AWS_LAMBDA_FUNCTION_VERSION":     "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.Memory),
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      now.UTC().Format("2006/01/02") + "/[$LATEST]" + randomHex(16),
		"LAMBDA_TASK_ROOT":                filepath.Dir(f.Path),
		"LAMBDA_RUNTIME_DIR":              "/var/runtime",
		"AWS_REGION":                      region,
		"AWS_DEFAULT_REGION":              region,
		"AWS_ACCESS_KEY_ID":               "landfall",
		"AWS_SECRET_ACCESS_KEY":           "landfall",
		"AWS_SESSION_TOKEN":               "landfall",
		"AWS_CONFIG_FILE":                 os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE":     os.DevNull,
		"AWS_EC2_METADATA_DISABLED":       "true",
		"TZ":                              ":UTC",
		"LANG":                            "en_US.UTF-8",
		"PATH":                            "/usr/local/bin:/usr/bin:/bin:/opt/bin",
		"TMPDIR":                          os.TempDir(),
	}
	maps.Copy(env, f.Env)
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}
