package devstack

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// InvokePath begins the paths of the API that ServeHTTP speaks.
const InvokePath = "/2015-03-31/functions/"

// refusals are how the API says that a function was not run
// (https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html).
var refusals = []struct {
	err    error
	typ    string
	status int
}{
	{ErrThrottled, "TooManyRequestsException", http.StatusTooManyRequests},
	{ErrUnknownFunction, "ResourceNotFoundException", http.StatusNotFound},
	{ErrRequestTooLarge, "RequestTooLargeException", http.StatusRequestEntityTooLarge},
	{ErrInvalidRequest, "InvalidRequestContentException", http.StatusBadRequest},
}

// ServeHTTP is Lambda's Invoke, synchronous, for the SDKs and the AWS CLI. A function goes by its name or ARN; there is
// one version of each, whatever version or alias is asked for.
func (s *Stack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	function, ok := strings.CutPrefix(r.URL.Path, InvokePath)
	function, invocation := strings.CutSuffix(function, "/invocations")
	kind := r.Header.Get("X-Amz-Invocation-Type")
	switch {
	case !ok || !invocation || r.Method != http.MethodPost:
		notRun(w, http.StatusNotFound, "UnknownOperationException", "of Lambda, only Invoke is here: POST "+InvokePath+"NAME/invocations")
		return
	case kind != "" && kind != "RequestResponse":
		notRun(w, http.StatusBadRequest, "InvalidParameterValueException", "only RequestResponse is possible here")
		return
	}
	payload, err := io.ReadAll(io.LimitReader(r.Body, MaxRequest+1))
	if err != nil {
		return // the caller is gone
	}
	result, err := s.Invoke(r.Context(), nameOf(function), payload)
	if err != nil {
		for _, known := range refusals {
			if errors.Is(err, known.err) {
				notRun(w, known.status, known.typ, err.Error())
				return
			}
		}
		notRun(w, http.StatusInternalServerError, "ServiceException", err.Error())
		return
	}
	if result.FunctionError != "" {
		w.Header().Set("X-Amz-Function-Error", result.FunctionError)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amz-Executed-Version", "$LATEST")
	w.Header().Set("X-Amzn-Requestid", result.RequestID)
	_, _ = w.Write(result.Payload) // the caller may be gone
}

// nameOf is the name in what a caller calls a function: NAME, NAME:QUALIFIER, or an ARN.
func nameOf(function string) string {
	if _, name, ok := strings.Cut(function, ":function:"); ok {
		function = name
	}
	name, _, _ := strings.Cut(function, ":")
	return name
}

func notRun(w http.ResponseWriter, status int, typ, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", typ)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"Type": "User", "Message": message}) // the caller may be gone
}
