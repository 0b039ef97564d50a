package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/schema"
)

// setupDestinations is a control table, and the command line with the configuration of rows.
func setupDestinations(t *testing.T) *groupsBundle {
	b := setupGroups(t)
	b.args[len(b.args)-1] = write(t, "landfall.yaml", goodConfig)
	return b
}

// states are the destinations that are not simply active, each with its concurrency.
func (b *groupsBundle) states() map[string]string {
	b.t.Helper()
	var views []destinationView
	b.read(&views, "destinations", "list")
	states := map[string]string{}
	for _, v := range views {
		if v.State != stateActive {
			states[v.Destination] = v.State + " " + strings.Repeat("|", v.Concurrency) + " " + v.ChangedBy + " " + v.Reason
		}
	}
	return states
}

func TestControlsAreShownWithTheirAuthor(t *testing.T) {
	t.Parallel()
	b := setupDestinations(t)
	for _, step := range []struct{ args, charge, mail string }{
		{"destinations pause charge --reason flood --by ann", "paused  ann flood", ""},
		{"destinations limit mail 2 --reason slow --by bob", "paused  ann flood", "limited || bob slow"},
		{"destinations limit charge 3 --reason slow --by bob", "paused  bob slow", "limited || bob slow"},
		{"destinations resume charge --by cid", "limited ||| cid ", "limited || bob slow"},
		{"destinations unlimit mail --by cid --reason well", "limited ||| cid ", ""},
		{"destinations limit charge 900 --reason more --by cid", "", ""},
	} {
		b.must("", append(strings.Split(step.args, " "), "--dry-run")...)
		b.must("", strings.Split(step.args, " ")...)
		if got := b.states(); got["charge"] != step.charge || got["mail"] != step.mail || got["old"] != "retired   " {
			t.Errorf("%s: %q", step.args, got)
		}
	}
}

func TestDryRunsAndMistakesChangeNoDestination(t *testing.T) {
	t.Parallel()
	b := setupDestinations(t)
	b.must("", "destinations", "pause", "mail", "--reason", "flood", "--by", "ann")
	for args, want := range map[string]string{
		"pause charge":                                                "pause needs --reason",
		"pause charge --reason=":                                      "--reason is empty: say why",
		"pause charge --reason x --by=":                               "--by",
		"pause mial --reason x --by ann":                              `unknown destination "mial": the configuration has charge`,
		"limit charge 0 --reason x --by ann":                          `the limit "0": want a number from 1 to 1000`,
		"limit charge 1001 --reason x --by ann":                       `the limit "1001": want a number`,
		"limit charge --reason x --by ann":                            "limit takes 2 arguments, but got 1",
		"limit charge two --reason x --by ann":                        `the limit "two": want a number`,
		"resume mial --by ann":                                        `unknown destination "mial"`,
		"pause charge --by ann --reason " + strings.Repeat("x", 1025): "--reason has 1025 bytes: at most",
	} {
		if got := b.execute("", append([]string{"destinations"}, strings.Split(args, " ")...)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
	for args, want := range map[string]string{
		"pause charge --reason x": "destination charge is paused", "resume mail": "destination mail is active",
		"limit charge 2 --reason x": "destination charge is limited, with at most 2", "unlimit mail": "destination mail is paused",
	} {
		got := b.must("", append(strings.Split("destinations "+args, " "), "--by", "bob", "--dry-run")...)
		if !strings.HasPrefix(got, "would be done: "+want) {
			t.Errorf("%s: %s", args, got)
		}
	}
	if got := b.states(); got["mail"] != "paused  ann flood" || got["charge"] != "" {
		t.Errorf("%q", got)
	}
}

func TestUnreadableControlIsShownAndRepaired(t *testing.T) {
	t.Parallel()
	b := setupDestinations(t)
	for sk, attribute := range map[string]string{"charge": schema.Paused, "mail": schema.MaxConcurrency, "gone": schema.Paused} {
		if _, err := b.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(schema.ControlTable), Item: map[string]types.AttributeValue{
			schema.PK: &types.AttributeValueMemberS{Value: schema.DestinationScope}, schema.SK: &types.AttributeValueMemberS{Value: sk},
			attribute: &types.AttributeValueMemberS{Value: "yes"}, schema.ChangedAt: &types.AttributeValueMemberN{Value: "1"},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	got := b.execute("", "destinations", "list")
	for _, want := range []string{"warning: destination charge counts as paused: the control cannot be read: paused", "warning: destination mail counts as paused"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q is not in %s", want, got.stderr)
		}
	}
	if !strings.Contains(got.stdout, "gone         -     not configured") {
		t.Errorf("%s", got.stdout)
	}
	if got := b.execute("", "destinations", "resume", "mail", "--by", "ann"); !strings.Contains(got.stdout, "is paused") || !strings.Contains(got.stderr, "still counts as paused") {
		t.Errorf("%+v", got)
	}
	b.must("", "destinations", "unlimit", "mail", "--by", "ann")
	b.must("", "destinations", "resume", "charge", "--by", "ann")
	b.must("", "destinations", "resume", "gone", "--by", "ann")
	if got := b.states(); got["mail"] != "" || got["charge"] != "" {
		t.Errorf("%q", got)
	}
}
