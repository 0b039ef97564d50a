package devstack

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

// Each rule is one of the documentation of partial batch responses, or was seen on the service.
func TestWrongReportsDoNotPassForSuccess(t *testing.T) {
	t.Parallel()
	batch := []record{{id: "a"}, {id: "b"}, {id: "c"}}
	for answer, want := range map[string]struct {
		failed []string
		err    error
	}{
		// Nothing has failed.
		``:                              {},
		` `:                             {},
		`null`:                          {},
		`""`:                            {},
		`[]`:                            {},
		`{}`:                            {},
		`{"statusCode":200}`:            {},
		`{"batchItemFailures":null}`:    {},
		`{"batchItemFailures":[]}`:      {},
		"{\"batchItemFailures\":[ ]}\n": {},
		`{"BatchItemFailures":[{"itemIdentifier":"a"}]}`: {}, // as good as not there: names are case-sensitive

		// Some have.
		`{"batchItemFailures":[{"itemIdentifier":"b"}]}`:                                               {failed: []string{"b"}},
		`{"batchItemFailures":[{"itemIdentifier":"c"},{"itemIdentifier":"a"}]}`:                        {failed: []string{"a", "c"}},
		`{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"b"}]}`:                        {failed: []string{"b"}},
		`{"batchItemFailures":[{"itemIdentifier":"b","why":1}],"more":[]}`:                             {failed: []string{"b"}},
		`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"},{"itemIdentifier":"c"}]}`: {failed: []string{"a", "b", "c"}},

		// All have.
		`{`:                                  {err: errNoReport},
		`{"batchItemFailures":[]} and more`:  {err: errNoReport},
		`"ok"`:                               {err: errNoReport},
		`true`:                               {err: errNoReport},
		`200`:                                {err: errNoReport},
		`["a"]`:                              {err: errNoReport},
		`[{"itemIdentifier":"a"}]`:           {err: errNoReport},
		`{"batchItemFailures":"a"}`:          {err: errNoReport},
		`{"batchItemFailures":{}}`:           {err: errNoReport},
		`{"batchItemFailures":["a"]}`:        {err: errNoReport},
		`{"batchItemFailures":[null]}`:       {err: errNoItem},
		`{"batchItemFailures":[{}]}`:         {err: errNoItem},
		`{"batchItemFailures":[{"id":"a"}]}`: {err: errNoItem},
		`{"batchItemFailures":[{"ItemIdentifier":"a"}]}`:                            {err: errNoItem},
		`{"batchItemFailures":[{"itemIdentifier":null}]}`:                           {err: errNoItem},
		`{"batchItemFailures":[{"itemIdentifier":""}]}`:                             {err: errNoItem},
		`{"batchItemFailures":[{"itemIdentifier":1}]}`:                              {err: errNoItem},
		`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":""}]}`:      {err: errNoItem},
		`{"batchItemFailures":[{"itemIdentifier":"d"}]}`:                            {err: errNotInBatch},
		`{"batchItemFailures":[{"itemIdentifier":"A"}]}`:                            {err: errNotInBatch},
		`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"other"}]}`: {err: errNotInBatch},
	} {
		failed, err := itemFailures([]byte(answer), batch)
		if got := slices.Sorted(maps.Keys(failed)); !slices.Equal(got, want.failed) || !errors.Is(err, want.err) {
			t.Errorf("%s: failed %q, %v; want %q, %v", answer, got, err, want.failed, want.err)
		}
	}
}
