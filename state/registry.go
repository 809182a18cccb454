package state

import "maps"

const (
	base    = "org.apache.flink.api.common.typeutils.base."
	arrays  = base + "array."
	runtime = "org.apache.flink.api.java.typeutils.runtime."
	windows = "org.apache.flink.streaming.api.windowing.windows."
	scala   = "org.apache.flink.api.scala.typeutils."
	table   = "org.apache.flink.table.runtime.typeutils."
)

// snapshotReaders holds the snapshot classes that can be read, by shortClass. It is filled once, at init, since the
// readers refer back to it.
var snapshotReaders map[string]snapshotReader

func init() {
	snapshotReaders = map[string]snapshotReader{
		"org.apache.flink.runtime.state.VoidNamespaceSerializer":                  simple(voidNamespaceCodec),
		windows + "TimeWindow$Serializer":                                         simple(timeWindowCodec),
		windows + "GlobalWindow$Serializer":                                       simple(globalWindowCodec),
		"org.apache.flink.table.runtime.operators.window.TimeWindow$Serializer":   simple(timeWindowCodec),
		"org.apache.flink.table.runtime.operators.window.CountWindow$Serializer":  simple(countWindowCodec),
		"org.apache.flink.streaming.api.operators.TimerSerializerSnapshot":        composite(2, newTimer),
		"org.apache.flink.runtime.state.ttl.TtlStateFactory":                      composite(2, newTTL),
		"org.apache.flink.runtime.state.v2.ttl.TtlStateFactory":                   composite(2, newTTL),
		"org.apache.flink.runtime.state.ttl.TtlAwareSerializerSnapshot":           readTTLAware,
		"org.apache.flink.runtime.state.ArrayListSerializerSnapshot":              composite(1, newList),
		base + "ListSerializerSnapshot":                                           composite(1, newList),
		base + "SetSerializerSnapshot":                                            composite(1, newSet),
		base + "MapSerializerSnapshot":                                            composite(2, newMap),
		base + "GenericArraySerializerSnapshot":                                   readGenericArray,
		base + "EnumSerializer":                                                   readEnum,
		"org.apache.flink.runtime.state.JavaSerializer":                           simple(javaCodec),
		scala + "ScalaCaseClassSerializerSnapshot":                                readCaseClass,
		scala + "ScalaOptionSerializerSnapshot":                                   composite(1, newOption),
		table + "RowDataSerializer":                                               readRowData,
		table + "BinaryRowDataSerializer":                                         readBinaryRow,
		table + "StringDataSerializer":                                            simple(sqlStringCodec),
		table + "DecimalDataSerializer":                                           readDecimalData,
		table + "TimestampDataSerializer":                                         readTimestampData,
		table + "ArrayDataSerializer":                                             readArrayData,
		table + "MapDataSerializer":                                               readMapData,
		table + "RawValueDataSerializer":                                          readRawValue,
		table + "LinkedListSerializer":                                            readLinkedList,
		table + "SortedMapSerializerSnapshot":                                     readSortedMap,
		table + "WindowKeySerializer":                                             composite(1, newWindowKey),
		table + "ExternalSerializer":                                              readExternal,
		"org.apache.flink.table.dataview.NullSerializer":                          simple(dataViewCodec),
		"org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer": composite(1, newStreamElement),
		"org.apache.flink.streaming.api.datastream.CoGroupedStreams":              composite(2, newSides),
		"org.apache.flink.streaming.api.operators.co.IntervalJoinOperator":        composite(1, newJoined),
		runtime + "NullableSerializer":                                            readNullable,
		runtime + "TupleSerializerSnapshot":                                       readTuple,
		runtime + "Tuple0SerializerSnapshot":                                      simple(tuple0Codec),
		runtime + "RowSerializer":                                                 readRow,
		runtime + "JavaEitherSerializerSnapshot":                                  composite(2, newEither),
		"org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot":          readAvro,
		runtime + "PojoSerializerSnapshot":                                        readPojo,
		runtime + "ValueSerializer":                                               readGenericType,
		runtime + "CopyableValueSerializer":                                       readGenericType,
		runtime + "kryo.KryoSerializerSnapshot":                                   readKryo,
	}
	maps.Copy(snapshotReaders, cepReaders())
	maps.Copy(snapshotReaders, multisetReaders())
	for name, c := range basicSerializers {
		snapshotReaders[base+name] = simple(c)
	}
	for name, c := range arraySerializers {
		snapshotReaders[arrays+name] = simple(c)
	}
}

// basicSerializers are those of package base without parts.
var basicSerializers = map[string]Codec{
	"BooleanSerializer": boolCodec, "BooleanValueSerializer": flinkValue{boolCodec},
	"ByteSerializer": int8Codec, "ByteValueSerializer": flinkValue{int8Codec},
	"ShortSerializer": int16Codec, "ShortValueSerializer": flinkValue{int16Codec},
	"IntSerializer": int32Codec, "IntValueSerializer": flinkValue{int32Codec},
	"LongSerializer": int64Codec, "LongValueSerializer": flinkValue{int64Codec},
	"FloatSerializer": float32Codec, "FloatValueSerializer": flinkValue{float32Codec},
	"DoubleSerializer": float64Codec, "DoubleValueSerializer": flinkValue{float64Codec},
	"CharSerializer": charCodec, "CharValueSerializer": flinkValue{charCodec},
	"StringSerializer": stringCodec, "StringValueSerializer": flinkValue{stringValueCodec},
	"VoidSerializer": voidCodec,
	"DateSerializer": dateCodec, "SqlDateSerializer": dateCodec, "SqlTimeSerializer": dateCodec,
	"SqlTimestampSerializer": timestampCodec, "InstantSerializer": instantCodec,
	"LocalDateSerializer": localDateCodec, "LocalTimeSerializer": localTimeCodec, "LocalDateTimeSerializer": localDateTimeCodec,
	"NullValueSerializer": nullValueCodec, "VariantSerializer": variantCodec, "BitmapSerializer": bitmapCodec,
	"BigIntSerializer": bigIntCodec, "BigDecSerializer": bigDecCodec,
}

var arraySerializers = map[string]Codec{
	"BooleanPrimitiveArraySerializer": primitiveArray(boolCodec),
	"ShortPrimitiveArraySerializer":   primitiveArray(int16Codec),
	"IntPrimitiveArraySerializer":     primitiveArray(int32Codec),
	"LongPrimitiveArraySerializer":    primitiveArray(int64Codec),
	"FloatPrimitiveArraySerializer":   primitiveArray(float32Codec),
	"DoublePrimitiveArraySerializer":  primitiveArray(float64Codec),
	"CharPrimitiveArraySerializer":    primitiveArray(charCodec),
	"BytePrimitiveArraySerializer":    bytesCodec,
	"StringArraySerializer":           newList([]Codec{stringCodec}),
}
