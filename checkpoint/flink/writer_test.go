package flink

import "encoding/binary"

// writer builds metadata and streams by hand, as java.io.DataOutput would.
type writer []byte

func (w *writer) bytes(b []byte) *writer {
	*w = append(*w, b...)
	return w
}

func (w *writer) u8(v uint8) *writer { return w.bytes([]byte{v}) }

func (w *writer) u16(v uint16) *writer { return w.bytes(binary.BigEndian.AppendUint16(nil, v)) }

func (w *writer) i32(v int32) *writer { return w.bytes(binary.BigEndian.AppendUint32(nil, uint32(v))) }

func (w *writer) i64(v int64) *writer { return w.bytes(binary.BigEndian.AppendUint64(nil, uint64(v))) }

func (w *writer) utf(s string) *writer { return w.u16(uint16(len(s))).bytes([]byte(s)) }

func (w *writer) blob(s string) *writer { return w.i32(int32(len(s))).bytes([]byte(s)) }

// text writes a Flink string of ASCII characters.
func (w *writer) text(s string) *writer {
	return w.bytes(binary.AppendUvarint(nil, uint64(len(s)+1))).bytes([]byte(s))
}

func (w *writer) header(version int32) *writer { return w.i32(metadataMagic).i32(version) }

// operator writes everything of an operator up to the number of its subtasks.
func (w *writer) operator(version, subtasks int32) *writer {
	if version >= 5 {
		w.utf("the name").utf("the-uid")
	}
	w.i64(0x0102030405060708).i64(0x1112131415161718).i32(4).i32(128)
	if version == 2 {
		return w.i32(1).i32(subtasks)
	}
	return w.u8(0).i32(subtasks)
}

// subtask writes everything up to the managed keyed handle of the only subtask.
func (w *writer) subtask(version int32) *writer {
	w.header(version).i64(1).i32(0).i32(1).operator(version, 1).i32(0)
	return w.i32(0).i32(0)
}

func (w *writer) inline(s string) *writer { return w.u8(tagByteStream).utf("inline").blob(s) }

func (w *writer) file(path string) *writer { return w.u8(tagFileStream).i64(77).utf(path) }

// keyGroups writes the common part of tags 3, 7 and 12.
func (w *writer) keyGroups(tag uint8) *writer {
	return w.u8(tag).i32(2).i32(2).i64(100).i64(200).file("file:/cp/job/chk-1/a")
}

func (w *writer) incremental(tag uint8) *writer {
	w.u8(tag).i64(41).utf("the-uuid").i32(0).i32(64)
	if tag == tagIncrementalV2 {
		w.i64(-1)
	}
	w.u8(tagRelativeStream).utf("meta").i64(5)
	w.i32(1).utf("000010.sst").file("file:/cp/job/shared/b")
	w.i32(2).utf("CURRENT").inline("MANIFEST-000004\n").utf("MANIFEST-000004")
	w.u8(tagSegment).i64(10).i64(20).i32(1).utf("file:/cp/job/shared/merged").utf("logical-7")
	if tag == tagIncrementalV2 {
		w.utf("handle-id")
	}
	return w
}

func (w *writer) changeFiles(tag uint8) *writer {
	w.u8(tag).i32(0).i32(64).i32(1).i64(9).file("file:/dstl/c").i64(1).i64(2).utf("files-id")
	if tag == tagChangelogFilesV2 {
		w.utf("filesystem")
	}
	return w
}

func (w *writer) changelog(tag, filesTag uint8) *writer {
	w.u8(tag).i32(0).i32(64).i64(33)
	w.i32(2).incremental(tagIncrementalV2).u8(tagNull)
	w.i32(2).changeFiles(filesTag)
	w.u8(tagChangelogBytes).i32(0).i32(64).i64(5).i64(6).i32(1).i32(-1).blob("change").utf("bytes-id")
	w.i64(8)
	if tag == tagChangelogV2 {
		w.i64(12)
	}
	return w.utf("changelog-id")
}

func (w *writer) operatorHandle(tag uint8) *writer {
	w.u8(tag).i32(3)
	w.utf("split").u8(0).i32(2).i64(10).i64(20)
	w.utf("union").u8(1).i32(0)
	w.utf("broadcast").u8(2).i32(1).i64(30)
	if tag == tagSegmentPartitionable {
		return w.utf("file:/cp/job/taskowned").utf("file:/cp/job/shared").u8(1).u8(tagEmptySegment)
	}
	return w.u8(tagRelativeStream).utf("operator-state").i64(40)
}

func (w *writer) channel(version int32, kind uint8) *writer {
	if version >= 6 {
		w.u8(kind)
	}
	return w.i32(1).i32(2).i32(3).i32(2).i64(4).i64(500).i64(6).inline("buffers")
}

func (w *writer) mergedChannels(kind uint8) *writer {
	var info writer
	info.i32(1).i32(2).i32(3).i64(7).i32(1).i64(4)
	return w.u8(kind).i32(1).i64(7).inline("merged").blob(string(info))
}

func (w *writer) masterState() *writer {
	var in writer
	in.i32(3).utf("hook").blob("payload")
	magic := uint32(masterMagic)
	return w.i32(int32(magic)).blob(string(in))
}

// everything writes a file of the given version with one subtask for each kind of keyed handle, and all else once.
func everything(version int32) []byte {
	var w writer
	w.header(version).i64(7).i32(1).masterState()
	keyed := []func(w *writer){
		func(w *writer) { w.keyGroups(tagKeyGroups) },
		func(w *writer) { w.incremental(tagIncremental) },
		func(w *writer) { w.keyGroups(tagSavepointKeyGroups) },
		func(w *writer) { w.changelog(tagChangelog, tagChangelogFiles) },
		func(w *writer) { w.incremental(tagIncrementalV2) },
		func(w *writer) { w.keyGroups(tagKeyGroupsV2).utf("groups-id") },
		func(w *writer) { w.changelog(tagChangelogV2, tagChangelogFilesV2) },
		func(w *writer) { w.u8(tagNull) },
	}
	if version >= 3 {
		w.i32(2).operator(version, int32(len(keyed))+1).i32(-9) // subtask 8 has ended
	} else {
		w.i32(1).operator(version, int32(len(keyed)))
	}
	for i, write := range keyed {
		w.i32(int32(i))
		if version == 2 {
			w.i64(-1).i32(0)
		}
		if version >= 3 {
			w.i32(1).operatorHandle(tagSegmentPartitionable).i32(1).operatorHandle(tagPartitionableOperator)
		} else {
			w.i32(0).i32(1).operatorHandle(tagPartitionableOperator)
		}
		write(&w)
		w.u8(tagNull) // raw keyed
		if version >= 6 {
			w.i32(2).channel(version, channelInput).mergedChannels(channelMergedInput)
			w.i32(2).channel(version, channelOutput).mergedChannels(channelMergedOutput)
		} else if version >= 3 {
			w.i32(1).channel(version, 0).i32(0)
		}
	}
	if version >= 3 {
		w.finished(version)
	}
	if version >= 4 {
		w.properties()
	}
	return w
}

// finished writes an operator that has ended, with a coordinator that has not.
func (w *writer) finished(version int32) *writer {
	if version >= 5 {
		w.utf("").utf("")
	}
	return w.i64(1).i64(2).i32(4).i32(128).inline("coordinator").i32(-1)
}

// properties writes what ObjectOutputStream makes of the properties of a native savepoint.
func (w *writer) properties() *writer {
	const pkg = "org.apache.flink.runtime.checkpoint."
	w.bytes([]byte{0xAC, 0xED, 0, 5, 0x73, 0x72}).utf(pkg + "CheckpointProperties").i64(2).u8(2).u16(2)
	w.u8('Z').utf("unclaimed")
	w.u8('L').utf("checkpointType").u8(0x74).utf("L" + pkg + "SnapshotType;")
	w.bytes([]byte{0x78, 0x70}).u8(1)
	w.u8(0x73).u8(0x72).utf(pkg + "SavepointType").i64(1).u8(2).u16(2)
	w.u8('L').utf("formatType").u8(0x74).utf("L" + pkg + "SavepointFormatType;")
	w.u8('L').utf("name").u8(0x74).utf("Ljava/lang/String;")
	w.bytes([]byte{0x78, 0x70})
	w.u8(0x7E).u8(0x72).utf(pkg + "SavepointFormatType").i64(0).u8(0x12).u16(0).u8(0x78)
	w.u8(0x72).utf("java.lang.Enum").i64(0).u8(0x12).u16(0).u8(0x78).u8(0x70).u8(0x74).utf("NATIVE")
	return w.u8(0x74).utf("Savepoint")
}
