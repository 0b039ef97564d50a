package loopback

import (
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Guard serves h to programs on this machine. It refuses with 403 what a web page makes a browser send: pages of any
// site reach loopback addresses, by their own scripts or by a name of theirs that leads here (DNS rebinding). It answers
// no preflight, and sets no CORS header.
func Guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := foreign(r); reason != "" {
			w.Header().Set("Connection", "close") // the body is not read
			http.Error(w, "refused: "+reason, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// foreign says why a request does not come from a program on this machine; empty if it does. The SDKs, the AWS CLI and
// curl send neither Origin nor Sec-Fetch-Site; browsers send one of them, or a Host of another name.
func foreign(r *http.Request) string {
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case !local(r):
		return "the Host " + strconv.Quote(r.Host) + " is not this server; use http://127.0.0.1:<port>"
	case r.Header["Origin"] != nil:
		return "the header Origin says that a web page sent this; only programs are served"
	case site != "" && site != "none" && site != "same-origin":
		return "the header Sec-Fetch-Site says that a web page sent this; only programs are served"
	}
	return ""
}

// local reports whether a request's Host is a loopback address, localhost or a name below it, with the port that the
// request came to.
func local(r *http.Request) bool {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = strings.Trim(r.Host, "[]"), "80"
	}
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && port != strconv.Itoa(at.Port) {
		return false
	}
	name := strings.ToLower(host)
	ip := net.ParseIP(host)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && ip.IsLoopback()
}
