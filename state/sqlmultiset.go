package state

// States of the sink materializer of Flink 2.3 for keys of many rows: rows in their order of arrival, linked by numbers, and the numbers by row.

const multiset = "org.apache.flink.table.runtime.sequencedmultisetstate.linked."

func multisetReaders() map[string]snapshotReader {
	return map[string]snapshotReader{
		multiset + "RowDataKeySerializerSnapshot":                            readRowDataKey,
		multiset + "RowSqnInfoSerializer":                                    composite(2, parts("first", "last")),
		multiset + "MetaSqnInfoSerializer":                                   composite(2, parts("highest", "size")),
		multiset + "NodeSerializer":                                          composite(6, parts("row", "number", "previous", "next", "nextOfRow", "timestamp")),
		"org.apache.flink.table.runtime.operators.sink.SortedLongSerializer": simple(sortedLongCodec),
	}
}

// readRowDataKey reads two objects of generated code, then the serializer of the row.
func readRowDataKey(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 0, 0)
	for range 2 {
		p.r.Skip(p.r.Count(1))
	}
	return p.versioned()
}

// sortedLongCodec reads a number whose sign is flipped, so that bytes sort as numbers do.
var sortedLongCodec = fixed(Int64, 8, appendTimestampKey)
