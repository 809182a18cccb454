package state

// AppendKeyPrefix appends what the composite keys of one key in one key group begin with, whatever their namespace and user key. The keys of timers begin
// with their time instead, so it does not apply to those.
func (s *Schema) AppendKeyPrefix(dst []byte, keyGroup int, key []byte) []byte {
	dst = s.AppendKey(dst, keyGroup, key, nil, nil)
	if s.ambiguous() {
		dst = dst[:len(dst)-1] // the length of the namespace that is not there
	}
	return dst
}
