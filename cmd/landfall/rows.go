package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func (a *app) rowsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rows",
		Short: "Look at rows, and decide about those that wait for a person",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(a.rowsAuditCommand(), a.rowsCancelCommand(), a.rowsGetCommand(), a.rowsListCommand(), a.rowsResolveCommand(), a.rowsRetryCommand())
	return cmd
}

// rowView is a row as the command line shows it: by the name that logs use, with the payload's size in its place.
type rowView struct {
	Name         string     `json:"row"`
	Destination  string     `json:"destination"`
	Key          string     `json:"key,omitempty"`
	Status       string     `json:"status"`
	Lane         string     `json:"lane,omitempty"`
	LaneAt       *time.Time `json:"lane_at,omitempty"`
	AttemptCount int        `json:"attempt_count"`
	LookupCount  int        `json:"lookup_count,omitempty"`
	Code         string     `json:"code,omitempty"`
	RemoteRef    string     `json:"remote_ref,omitempty"`
	MaybeSince   *time.Time `json:"maybe_since,omitempty"`
	ClaimedBy    string     `json:"claimed_by,omitempty"`
	ClaimedAt    *time.Time `json:"claimed_at,omitempty"`
	Until        *time.Time `json:"until,omitempty"`
	CommandID    string     `json:"command_id,omitempty"`
	ContentType  string     `json:"content_type,omitempty"`
	PayloadBytes int        `json:"payload_bytes"`
	CreatedAt    *time.Time `json:"created_at,omitempty"`
	CompletedAt  *time.Time `json:"completed_at,omitempty"`
	DeliverBy    *time.Time `json:"deliver_by,omitempty"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty"`
	ResolvedBy   string     `json:"resolved_by,omitempty"`
	ResolvedAt   *time.Time `json:"resolved_at,omitempty"`
	Reason       string     `json:"reason,omitempty"`
	Forced       bool       `json:"forced,omitempty"`
	Unreadable   string     `json:"unreadable,omitempty"`
}

func view(r outbox.Row) rowView {
	v := rowView{
		Name: r.String(), Destination: r.Destination, Status: string(r.Status),
		LaneAt: instant(r.LaneAt), AttemptCount: r.AttemptCount, LookupCount: r.LookupCount,
		Code: r.Code, RemoteRef: r.RemoteRef, MaybeSince: instant(r.MaybeSince),
		ClaimedAt: instant(r.ClaimedAt), Until: instant(r.Until),
		CommandID: r.CommandID, ContentType: r.ContentType, PayloadBytes: len(r.Payload),
		CreatedAt: instant(r.CreatedAt), CompletedAt: instant(r.CompletedAt),
		DeliverBy: instant(r.DeliverBy), ExpiresAt: instant(r.ExpiresAt),
		ResolvedBy: r.ResolvedBy, ResolvedAt: instant(r.ResolvedAt), Reason: r.Reason, Forced: r.Forced,
	}
	if r.AttemptCount > 0 { // before, there are place-holders
		v.ClaimedBy = r.ClaimedBy
	}
	if r.Lane != (outbox.Lane{}) {
		v.Lane = r.Lane.String()
	}
	if r.Unreadable != nil {
		v.Unreadable = r.Unreadable.Error()
	}
	return v
}

// instant is nil for what is absent.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

func stamp(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}
