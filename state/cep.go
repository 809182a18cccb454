package state

// States of pattern matching, of SQL's MATCH_RECOGNIZE and of the CEP library. Events stand in one map by id; those that belong to partial matches hang together
// by edges, each with a version that tells the matches apart; whatever is pointed at counts its users.

const (
	cep          = "org.apache.flink.cep.nfa."
	sharedBuffer = cep + "sharedbuffer."
)

func cepReaders() map[string]snapshotReader {
	return map[string]snapshotReader{
		cep + "DeweyNumber$DeweyNumberSerializer":                    simple(deweyCodec),
		cep + "NFAStateSerializerSnapshot":                           readMatches,
		sharedBuffer + "EventId$EventIdSerializer":                   simple(eventIDCodec),
		sharedBuffer + "NodeId$NodeIdSerializer":                     composite(1, newNodeID),
		sharedBuffer + "SharedBufferEdge$SharedBufferEdgeSerializer": composite(2, parts("target", "version")),
		sharedBuffer + "SharedBufferNodeSerializerSnapshotV2":        composite(1, newNode),
		sharedBuffer + "LockableTypeSerializerSnapshot":              composite(1, newLockable),
	}
}

var (
	deweyCodec   = newList([]Codec{int32Codec})
	eventIDCodec = parts("id", "timestamp")([]Codec{int32Codec, int64Codec})
)

// newNodeID makes the codec of an event within a stage of the pattern.
func newNodeID(nested []Codec) Codec {
	return newOption([]Codec{parts("event", "stage")([]Codec{nested[0], stringCodec})})
}

// newLockable makes the codec of something with the number of its users before it.
func newLockable(nested []Codec) Codec {
	return parts("users", "element")([]Codec{int32Codec, nested[0]})
}

// newNode makes the codec of the edges that lead from an event to those before it.
func newNode(nested []Codec) Codec { return newList([]Codec{newLockable(nested)}) }

// readMatches reads the snapshot of what one key has under way. Both lists are heaps, whose order says nothing.
func readMatches(p *snapshots, class string, version int32) Codec {
	withPrevious := p.outer(class, version) >= 2 && p.r.Bool()
	nested := p.nested(3)
	if p.r.Err() != nil {
		return broken
	}
	names, fields := []string{"state", "previous", "version", "start"}, []Codec{stringCodec, nested[1], nested[0], int64Codec}
	if withPrevious {
		names, fields = append(names, "previousTimestamp"), append(fields, int64Codec)
	}
	match := parts(append(names, "startEvent")...)(append(fields, newOption([]Codec{nested[2]})))
	matches := newSequence(Set, match, noFlag)
	return parts("partial", "completed")([]Codec{matches, matches})
}

// parts makes the codec of fields that stand back to back and have names.
func parts(names ...string) func(fields []Codec) Codec {
	return func(fields []Codec) Codec {
		c := newTuple(fields)
		for i := range c.typ.Fields {
			c.typ.Fields[i].Name = names[i]
		}
		c.unhashed = true
		return c
	}
}
