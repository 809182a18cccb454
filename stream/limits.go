package stream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// checkLossless refuses a stream that exists with settings under which messages disappear before every sink has read them, naming each setting. A limit
// that makes the server refuse new messages is none of these: the publisher reports it and waits.
func checkLossless(c jetstream.StreamConfig, perSubject int64) error {
	var faults []error
	lossy := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("stream %s: %s: %w", c.Name, fmt.Sprintf(format, args...), ErrLossy))
		}
	}
	dropsOld := c.Discard == jetstream.DiscardOld
	lossy(c.Retention != jetstream.LimitsPolicy, "retention %q deletes what one reader has acknowledged (limits wanted)", c.Retention)
	lossy(c.MaxAge > 0, "max_age %s", c.MaxAge)
	lossy(c.MaxMsgs > 0 && dropsOld, "max_msgs %d with discard old", c.MaxMsgs)
	lossy(c.MaxBytes > 0 && dropsOld, "max_bytes %d with discard old", c.MaxBytes)
	lossy(c.MaxMsgsPerSubject > 0 && c.MaxMsgsPerSubject != perSubject && !(c.DiscardNewPerSubject && !dropsOld),
		"max_msgs_per_subject %d", c.MaxMsgsPerSubject)
	lossy(c.Storage != jetstream.FileStorage, "storage %q (file wanted)", c.Storage)
	lossy(c.NoAck, "no_ack (a publisher can't know what is stored)")
	lossy(c.PersistMode == jetstream.AsyncPersistMode, "persist_mode async (acknowledges what is not yet stored)")
	return errors.Join(faults...)
}

// checkUsable refuses a stream of our name that can't hold our messages.
func checkUsable(c jetstream.StreamConfig, subject string) error {
	var faults []error
	unfit := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("stream %s: %s", c.Name, fmt.Sprintf(format, args...)))
		}
	}
	unfit(!slices.Contains(c.Subjects, subject), "its subjects %q lack %q", c.Subjects, subject)
	unfit(c.Mirror != nil, "is a mirror")
	unfit(c.Sealed, "is sealed")
	unfit(c.DenyPurge, "deny_purge: what every sink has applied could never be deleted")
	unfit(c.SubjectTransform != nil, "subject_transform: subjects would not be ours")
	return errors.Join(faults...)
}
