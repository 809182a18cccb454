// Package javaobj reads the object graph of one Java serialization stream, without any class at hand.
//
// Flink writes such streams into its own formats with no length in front, so that even who does not want the object
// has to parse it to find where it ends:
//
//	+-------------------+-----------------------------------------------------------+
//	| AC ED 00 05 (4B)  | one object: a tag byte (70..7E), then what the tag demands |
//	+-------------------+-----------------------------------------------------------+
//
//	73 object     class, handle, data of each class of the hierarchy, the topmost first
//	72 class      utf name, i64 serialVersionUID, handle, u8 flags, u16 n, n fields, annotations to 78, superclass
//	75 array      class, handle, i32 n, n elements
//	7E enum       class, handle, string
//	74 string     handle, utf           7C the same with an i64 length
//	71 reference  i32 0x7E0000 + number of an earlier handle
//	70 null
//
// It knows state/javaio and fault only; state and checkpoint/flink read through it. No class is ever loaded and nothing
// is run: an object is its class's name and its fields. Depth and number of values are bounded.
package javaobj
