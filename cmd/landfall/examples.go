package main

import "github.com/spf13/cobra"

// examples has one for each command, by its path. They are in the help and in docs/cli.md.
var examples = map[string]string{
	"landfall bench":                "landfall bench --html build/bench.html",
	"landfall consumers add":        "landfall consumers add couriers east --sqs courier-east --max-in-flight 50",
	"landfall consumers drain":      "landfall consumers drain couriers east",
	"landfall consumers list":       "landfall consumers list couriers",
	"landfall consumers remove":     "landfall consumers remove couriers east",
	"landfall demo":                 "landfall demo --seed 7",
	"landfall destinations limit":   "landfall destinations limit charge 2 --reason 'their API is slow'",
	"landfall destinations list":    "landfall destinations list --stack landfall-prod",
	"landfall destinations pause":   "landfall destinations pause charge --reason 'maintenance until 14:00'",
	"landfall destinations resume":  "landfall destinations resume charge",
	"landfall destinations unlimit": "landfall destinations unlimit charge",
	"landfall dev":                  "landfall dev --port 4570",
	"landfall doctor":               "landfall doctor --stack landfall-prod",
	"landfall enqueue":              "landfall enqueue charge --key order-42 --data @payload.json",
	"landfall groups describe":      "landfall groups describe couriers",
	"landfall groups list":          "landfall groups list --output json",
	"landfall groups reset-route":   "landfall groups reset-route couriers",
	"landfall groups set-route":     "landfall groups set-route couriers rendezvous customer_id --dry-run",
	"landfall groups test":          `landfall groups test couriers --message '{"customer_id": "c-7"}'`,
	"landfall init":                 "landfall init my-service",
	"landfall rows audit":           "landfall rows audit --command order-42",
	"landfall rows cancel":          "landfall rows cancel charge order-42 --reason 'customer withdrew'",
	"landfall rows get":             "landfall rows get charge order-42",
	"landfall rows list":            "landfall rows list charge --status outcome_unknown --older-than 1h",
	"landfall rows resolve": `landfall rows resolve charge order-42 --as completed --ref ch_3P \
    --reason 'seen in their console'`,
	"landfall rows retry": "landfall rows retry charge/0123456789abcdef",
	"landfall validate":   "landfall validate landfall.yaml --rate 500",
	"landfall version":    "landfall version",
}

// illustrate gives a command and those below it their examples.
func illustrate(cmd *cobra.Command) {
	if example := examples[cmd.CommandPath()]; example != "" {
		cmd.Example = "  " + example
	}
	for _, sub := range cmd.Commands() {
		illustrate(sub)
	}
}
