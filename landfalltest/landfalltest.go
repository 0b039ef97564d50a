// Package landfalltest is for the tests of applications. An [Outbox] is a [landfall.Outbox] whose table is in memory; it
// returns the rows that were put. A [Group] is the surroundings of a [consumer.Consumer]. Both run the production code on a
// DynamoDB and an SQS in this process, so that rules and conflicts are the real ones. They need no sockets, no containers
// and no account, and work inside testing/synctest.
//
// The package sends nothing. To see rows sent on your machine, use the commands landfall dev and landfall demo.
package landfalltest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Outbox is an outbox on a table of its own.
type Outbox struct {
	*landfall.Outbox
	// Client talks to the DynamoDB that holds the table. An application that puts rows in transactions
	// makes its own tables there.
	Client *dynamodb.Client

	cfg landfall.Config
}

// New makes an empty outbox. The error is about the name of the table, if cfg sets it.
func New(cfg landfall.Config) (*Outbox, error) {
	cfg.Table = cmp.Or(cfg.Table, schema.OutboxTable)
	client := dynamodb.NewFromConfig(localaws.New(localaws.Options{}).Config("landfalltest"))
	if _, err := client.CreateTable(context.Background(), outboxdb.Table(cfg.Table)); err != nil {
		return nil, fmt.Errorf("landfalltest: %w", err)
	}
	return &Outbox{Outbox: landfall.New(client, cfg), Client: client, cfg: cfg}, nil
}

// Rows returns the rows that were put, in the order of their creation, those of the same millisecond by
// destination and key. Defaults are filled in, header names canonical, times cut to the millisecond.
func (o *Outbox) Rows(ctx context.Context) ([]landfall.Row, error) {
	var stored []outbox.Row
	scan := dynamodb.NewScanPaginator(o.Client, &dynamodb.ScanInput{TableName: &o.cfg.Table, ConsistentRead: aws.Bool(true)})
	for scan.HasMorePages() {
		page, err := scan.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("landfalltest: %w", err)
		}
		for _, item := range page.Items {
			stored = append(stored, outboxdb.Decode(item))
		}
	}
	slices.SortFunc(stored, func(a, b outbox.Row) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.PK(), b.PK()))
	})
	rows := make([]landfall.Row, len(stored))
	for i, row := range stored {
		rows[i] = o.asPut(row)
	}
	return rows, nil
}

// asPut is the row as the application put it.
func (o *Outbox) asPut(row outbox.Row) landfall.Row {
	var notBefore time.Time
	if due := row.LaneAt.Add(-o.cfg.Destinations[row.Destination].HeadStart); due.After(row.CreatedAt) {
		notBefore = due
	}
	return landfall.Row{
		Destination: row.Destination, Key: row.Key, Payload: row.Payload,
		ContentType: cmp.Or(row.ContentType, schema.DefaultContentType), Headers: row.Headers,
		NotBefore: notBefore, DeliverBy: row.DeliverBy, CommandID: row.CommandID, Trace: row.Trace,
	}
}
