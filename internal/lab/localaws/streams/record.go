package streams

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

// Record is a record as GetRecords answers it.
type Record struct {
	AWSRegion    string    `json:"awsRegion"`
	DynamoDB     Change    `json:"dynamodb"`
	EventID      string    `json:"eventID"`
	EventName    string    `json:"eventName"` // INSERT, MODIFY or REMOVE
	EventSource  string    `json:"eventSource"`
	EventVersion string    `json:"eventVersion"`
	UserIdentity *Identity `json:"userIdentity,omitempty"` // of items that expired
}

// Identity names the service itself as the author of a change.
type Identity struct {
	PrincipalID string `json:"PrincipalId"`
	Type        string
}

// Change is the part of a record that is about the item.
type Change struct {
	ApproximateCreationDateTime int64 // epoch seconds
	Keys                        attr.Map
	NewImage                    attr.Map `json:",omitempty"`
	OldImage                    attr.Map `json:",omitempty"`
	SequenceNumber              string
	SizeBytes                   int
	StreamViewType              string
}

// tell is a record as GetRecords answers it. Its size is that of the key and the images that it has.
func (st *Stream) tell(r record) Record {
	c := Change{ApproximateCreationDateTime: r.at.Unix(), Keys: r.key, SequenceNumber: number(r.seq), StreamViewType: st.source.View}
	if strings.HasPrefix(st.source.View, "NEW") {
		c.NewImage = r.item
	}
	if strings.Contains(st.source.View, "OLD") {
		c.OldImage = r.old
	}
	c.SizeBytes = c.Keys.Size() + c.NewImage.Size() + c.OldImage.Size()
	id := sha256.Sum256([]byte(st.ARN + c.SequenceNumber))
	told := Record{AWSRegion: st.service.region, DynamoDB: c, EventID: hex.EncodeToString(id[:16]), EventName: "MODIFY", EventSource: "aws:dynamodb", EventVersion: "1.1"}
	switch {
	case r.old == nil:
		told.EventName = "INSERT"
	case r.item == nil:
		told.EventName = "REMOVE"
	}
	if r.expired {
		told.UserIdentity = &Identity{"dynamodb.amazonaws.com", "Service"}
	}
	return told
}
