package egress

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// maxEncodings bounds how often a body may be encoded: once by the remote, once by a gateway before it.
const maxEncodings = 2

// decoded undoes the Content-Encoding of a body. Requests ask for none, but some remotes compress all the same. The result
// is nil if it would be longer than MaxBody, or if the encoding is broken or is not gzip. nil stays nil, and an empty body,
// as of an answer to HEAD, stays empty.
func decoded(body []byte, header http.Header) []byte {
	var encodings []string
	for name := range strings.SplitSeq(strings.ToLower(strings.Join(header.Values("Content-Encoding"), ",")), ",") {
		if name = strings.TrimSpace(name); name != "" && name != "identity" {
			encodings = append(encodings, name)
		}
	}
	if len(body) == 0 || len(encodings) == 0 {
		return body
	}
	if len(encodings) > maxEncodings {
		return nil
	}
	for i := len(encodings) - 1; i >= 0; i-- { // the last one was applied last
		if encodings[i] != "gzip" && encodings[i] != "x-gzip" {
			return nil
		}
		if body = gunzip(body); body == nil {
			return nil
		}
	}
	return body
}

// gunzip returns the whole content, or nil.
func gunzip(body []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	if err != nil || len(content) > MaxBody {
		return nil
	}
	return content
}
